// once.cpp - print each line once, in C++: batches of lines, and a filter kept in a file between
// runs.
//
//     c++ -std=c++17 once.cpp $(pkg-config --cflags --libs weir) -o once
//     ./once seen.weir < today.log
#include <filesystem>
#include <iostream>
#include <weir.hpp>

namespace
{

void print_new(weir::filter &seen, const std::vector<std::string> &lines)
{
    std::vector<std::uint8_t> verdicts = seen.observe_many(lines);

    for (std::size_t i = 0; i < lines.size(); i++)
        if (verdicts[i] == WEIR_NEW)
            std::cout << lines[i] << '\n';
}

void run(const std::string &path)
{
    weir::filter seen = std::filesystem::exists(path) ? weir::filter::load_file(path)
                                                      : weir::filter("recent memory=4M fpr=0.1%");
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
    seen.save_file(path);
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
