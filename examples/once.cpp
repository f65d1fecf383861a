// once.cpp - print each line once, in C++: batches of lines, and a filter kept in a file between
// runs.
//
//     c++ -std=c++17 once.cpp $(pkg-config --cflags --libs weir) -o once
//     ./once seen.weir < today.log
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <weir.hpp>

namespace
{

weir::filter open_or_load(const std::string &path)
{
    std::ifstream file(path, std::ios::binary);

    if (!file)
        return weir::filter("recent memory=4M fpr=0.1%");
    return weir::filter::load_buffer(std::string(std::istreambuf_iterator<char>(file), {}));
}

// Replace the file in one step: after a crash it is the old one or the new one.
void save(const weir::filter &seen, const std::string &path)
{
    std::ofstream file(path + ".new", std::ios::binary);

    seen.save_stream([&](std::string_view bytes) { return !!(file << bytes); });
    if (!file.flush() || std::rename((path + ".new").c_str(), path.c_str()) != 0)
        throw std::runtime_error("cannot write " + path);
}

void print_new(weir::filter &seen, const std::vector<std::string> &lines)
{
    std::vector<std::uint8_t> verdicts = seen.observe_many(lines);

    for (std::size_t i = 0; i < lines.size(); i++)
        if (verdicts[i] == WEIR_NEW)
            std::cout << lines[i] << '\n';
}

void run(const std::string &path)
{
    weir::filter seen = open_or_load(path);
    std::vector<std::string> lines;

    for (std::string line; std::getline(std::cin, line);) {
        lines.push_back(std::move(line));
        if (lines.size() == 4096) {
            print_new(seen, lines);
            lines.clear();
        }
    }
    print_new(seen, lines);
    if (!std::cout.flush())
        throw std::runtime_error("cannot write the output");
    save(seen, path);
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
