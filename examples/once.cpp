// once.cpp - each line once, in C++: lines are taken in batches, which is several times as fast as
// one by one, and the filter is kept in a file from run to run.
//
//     c++ -std=c++17 once.cpp $(pkg-config --cflags --libs weir) -o once
//     ./once seen.weir < today.log
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>
#include <weir.h>

namespace
{

struct closer {
    void operator()(weir_filter *w) const
    {
        weir_close(w);
    }
};
using filter = std::unique_ptr<weir, closer>;

// What went wrong, as the library says it.
void check(weir_status status, const weir_error &error)
{
    if (status != WEIR_OK)
        throw std::runtime_error(error.text);
}

filter open_or_load(const char *path)
{
    std::ifstream file(path, std::ios::binary);
    weir_error error;
    weir_filter *w;

    if (!file) {
        check(weir_open(&w, "recent memory=4M fpr=0.1%", &error), error);
        return filter(w);
    }
    std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    check(weir_load_buffer(&w, bytes.data(), bytes.size(), nullptr, NULL, &error), error);
    return filter(w);
}

// Written beside it first: a crash leaves the old file or the new one, not half of it.
void save(const weir_filter *w, const std::string &path)
{
    std::ofstream file(path + ".new", std::ios::binary);
    weir_error error;
    weir_sink sink = [](void *to, const void *data, size_t size) {
        return static_cast<std::ofstream *>(to)
            ->write(static_cast<const char *>(data), static_cast<std::streamsize>(size))
            .good();
    };

    check(weir_save_stream(w, sink, &file, &error), error);
    if (!file.flush() || std::rename((path + ".new").c_str(), path.c_str()) != 0)
        throw std::runtime_error("cannot write " + path);
}

void pass_new(weir_filter *w, const std::vector<std::string> &lines)
{
    std::vector<weir_bytes> bytes;
    std::vector<uint8_t> verdicts(lines.size());

    for (const std::string &line : lines)
        bytes.push_back({line.data(), line.size()});
    weir_observe_bytes_many(w, bytes.data(), bytes.size(), verdicts.data());
    for (size_t i = 0; i < lines.size(); i++)
        if (verdicts[i] == WEIR_NEW)
            std::cout << lines[i] << '\n';
}

void run(const char *path)
{
    filter w = open_or_load(path);
    std::vector<std::string> lines;

    for (std::string line; std::getline(std::cin, line);) {
        lines.push_back(std::move(line));
        if (lines.size() == 4096) {
            pass_new(w.get(), lines);
            lines.clear();
        }
    }
    pass_new(w.get(), lines);
    if (!std::cout.flush())
        throw std::runtime_error("cannot write the output");
    save(w.get(), path);
}

} // namespace

int main(int argc, char **argv)
{
    std::ios::sync_with_stdio(false);
    try {
        run(argc > 1 ? argv[1] : "seen.weir");
    } catch (const std::exception &e) {
        std::cerr << "once: " << e.what() << '\n';
        return 2;
    }
    return 0;
}
