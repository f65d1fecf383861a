// cpp.cpp - weir.hpp: each method calls its C function, errors become exceptions, exceptions of
// callables cross the C library, handles close once.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <filesystem>
#include <list>
#include <string>
#include <thread>
#include <vector>
#include <weir.hpp>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            throw std::logic_error(std::string("line ") + std::to_string(__LINE__) + ": " +        \
                                   #condition);                                                    \
    } while (0)

namespace
{

using verdicts = std::vector<std::uint8_t>;
using strings = std::vector<std::string>;

// The exception of type E that the call throws.
template <class E, class F> E thrown_by(F call)
{
    try {
        call();
    } catch (const E &e) {
        return e;
    }
    throw std::logic_error("no exception was thrown");
}

strings some_keys(std::size_t n)
{
    strings keys;

    for (std::size_t i = 0; i < n; i++)
        keys.push_back("key " + std::to_string(i * i % 1009));
    return keys;
}

// An allocator that counts blocks.
struct counted : weir::options {
    int blocks = 0;

    counted()
    {
        allocator.allocate = [](void *self, std::size_t bytes) {
            static_cast<counted *>(self)->blocks++;
            return std::calloc(1, bytes);
        };
        allocator.free = [](void *self, void *block) {
            static_cast<counted *>(self)->blocks -= block != nullptr;
            std::free(block);
        };
        allocator.context = this;
    }
};

// ---- spans ----

static_assert(std::is_constructible_v<weir::span<const int>, std::vector<int> &>);
static_assert(std::is_constructible_v<weir::span<const int>, const std::vector<int> &>);
static_assert(!std::is_constructible_v<weir::span<int>, const std::vector<int> &>);
static_assert(!std::is_constructible_v<weir::span<const int>, std::vector<long> &>);
static_assert(!std::is_constructible_v<weir::span<const int>, std::list<int> &>);

void spans_view_contiguous_containers()
{
    std::vector<int> vector = {1, 2, 3};
    std::array<int, 2> array = {4, 5};
    int plain[] = {6};
    weir::span<int> s = vector;
    weir::span<const int> whole[] = {s, vector, array, plain, {vector.data(), 1}, {}};
    std::size_t sizes[] = {3, 3, 2, 1, 1, 0};

    for (std::size_t i = 0; i < 6; i++)
        CHECK(whole[i].size() == sizes[i] && whole[i].empty() == (sizes[i] == 0));
    s[1] = 7;
    CHECK(vector[1] == 7 && s.data() == vector.data() && s.end() - s.begin() == 3);
    CHECK(s.subspan(1, 2).data() == &vector[1] && s.subspan(1, 2).size() == 2);
}

// ---- filters ----

void a_filter_answers_as_in_c()
{
    weir::filter f("recent memory=64K seed=1");

    CHECK(!f.observe("a") && f.observe("a") && f.ask("a") && !f.ask("b"));
    CHECK(!f.observe(f.hash("b")) && f.ask(f.hash("b")) && f.ask("b"));
    CHECK(f.stats().observed == 3 && f.stats().seen == 1 && f.stats().new_keys == 2);
    CHECK(!f.observe("") && f.ask(std::string_view()) && f.observe(std::string()));
    CHECK(f.spec() == weir::filter(f.spec()).spec() && f.spec().find("seed=1") != f.spec().npos);
    f.clear();
    CHECK(!f.ask("a") && f.stats().observed == 0);
}

void a_batch_equals_single_calls()
{
    strings keys = some_keys(3000); // more than one internal batch
    std::vector<std::string_view> views(keys.begin(), keys.end());
    weir::filter one("recent memory=64K seed=1"), text = one.clone(), view = one.clone(),
                                                  hashed = one.clone();
    verdicts expected;

    for (const std::string &key : keys)
        expected.push_back(one.observe(key));
    CHECK(text.observe_many(keys) == expected);
    CHECK(view.observe_many(weir::span<const std::string_view>(views)) == expected);
    CHECK(hashed.observe_many(hashed.hash_many(keys)) == expected);
    CHECK(text.save_buffer() == one.save_buffer() && view.save_buffer() == one.save_buffer());
    CHECK(hashed.save_buffer() == one.save_buffer());
    CHECK(one.ask_many(keys) == verdicts(keys.size(), WEIR_SEEN));
    CHECK(one.ask_many(views) == verdicts(keys.size(), WEIR_SEEN));
}

void batches_take_any_contiguous_keys()
{
    weir::filter f("recent memory=64K seed=1");
    const char *plain[] = {"a", "b"};
    std::array<std::string_view, 2> array = {"b", "c"};
    std::uint8_t out[2];

    CHECK(f.observe_many(plain) == (verdicts{0, 0}));
    f.observe_many(array, out);
    CHECK(out[0] == WEIR_SEEN && out[1] == WEIR_NEW);
    CHECK(f.observe_many(strings()).empty());
    thrown_by<std::invalid_argument>([&] { f.observe_many(some_keys(3), out); });
    thrown_by<std::invalid_argument>([&] { f.ask_many(some_keys(1), out); });
    CHECK(f.stats().observed == 4);
}

void times_and_importance_reach_the_filter()
{
    weir::filter f("recent memory=64K span=1h seed=1");
    std::vector<std::uint64_t> times = {0, 1800000, 9000000};
    verdicts out(3);

    f.observe_many_at(strings{"a", "a", "a"}, times, out);
    CHECK(out == (verdicts{0, 1, 0}));
    f.advance(90000000);
    CHECK(!f.ask("a"));
    thrown_by<std::invalid_argument>([&] {
        f.observe_many_at(strings(2), times, {out.data(), 2});
    });
    thrown_by<std::invalid_argument>([&] {
        f.observe_many_at(strings(2), {times.data(), 2}, out);
    });

    weir_key key = f.hash("b");
    CHECK(key.importance == 1);
    key.importance = 200;
    CHECK(!f.observe(key) && f.observe("b"));
}

void keys_are_forgotten_counted_and_merged()
{
    weir::filter f("cuckoo capacity=1k seed=1"), other("cuckoo capacity=1k seed=1");

    f.observe("a");
    f.observe("a");
    CHECK(f.count("a") == 2 && f.forget("a") && f.count("a") == 1 && f.forget("a") &&
          !f.forget("a"));

    weir::filter left("bloom memory=1K seed=1"), right("bloom memory=1K seed=1");
    right.observe("b");
    left.merge(right);
    CHECK(left.ask("b"));
    CHECK(thrown_by<weir::error>([&] { left.forget("b"); }).status() == WEIR_UNSUPPORTED);
    CHECK(thrown_by<weir::error>([&] {
              left.merge(weir::filter("bloom memory=1K seed=2"));
          }).status() == WEIR_MISMATCH);
}

void errors_have_a_status_and_a_text()
{
    weir::error e = thrown_by<weir::error>([] { weir::filter("bloom memory=64Q"); });
    weir_error c;
    weir_filter *none;

    weir_open(&none, "bloom memory=64Q", &c);
    CHECK(e.status() == WEIR_BAD_CONFIG && e.code() == c.code);
    CHECK(std::strcmp(e.what(), c.text) == 0);
    CHECK(dynamic_cast<const std::runtime_error *>(static_cast<const std::exception *>(&e)));
    CHECK(thrown_by<weir::error>([] { weir::filter::load_buffer("no filter"); }).status() ==
          WEIR_BAD_DATA);
}

// ---- ownership ----

static_assert(!std::is_copy_constructible_v<weir::filter>);
static_assert(!std::is_copy_assignable_v<weir::screen>);
static_assert(std::is_nothrow_move_constructible_v<weir::filter>);
static_assert(std::is_nothrow_move_assignable_v<weir::shared>);
static_assert(std::is_nothrow_move_constructible_v<weir::sketch>);
static_assert(std::is_nothrow_move_constructible_v<weir::builder>);

void handles_move_and_close_once()
{
    counted memory;
    {
        weir::filter a("recent memory=4K seed=1", memory);
        weir_filter *raw = a.get();

        a.observe("a");
        CHECK(memory.blocks == 1);
        weir::filter b = std::move(a);
        CHECK(!a.get() && b.get() == raw && b.ask("a"));
        a = b.clone();
        CHECK(memory.blocks == 2 && a.ask("a") && a.get() != raw);
        a.clear();
        CHECK(b.ask("a"));
        a = std::move(b);
        CHECK(memory.blocks == 1 && a.get() == raw && !b.get());
        std::vector<weir::filter> many;
        many.push_back(std::move(a));
        many.emplace_back("recent memory=4K", memory);
        CHECK(memory.blocks == 2 && many[0].ask("a"));
        weir::filter adopted(many[1].release());
        CHECK(memory.blocks == 2);
    }
    CHECK(memory.blocks == 0);
}

void options_limit_memory()
{
    weir::options limit;

    limit.max_bytes = 1 << 20;
    weir::filter fits("recent memory=512K", limit);
    for (auto open :
         std::vector<std::function<void()>>{[&] { weir::filter("recent memory=64M", limit); },
                                            [&] { weir::shared("recent memory=64M", 4, limit); },
                                            [&] { weir::sketch("top memory=64M", limit); },
                                            [&] { weir::screen("cache memory=64M", limit); },
                                            [&] { weir::builder("bloom memory=64M", limit); }})
        CHECK(thrown_by<weir::error>(open).status() == WEIR_NO_MEMORY);
}

// ---- save and load ----

template <class Handle> void round_trip(const Handle &h)
{
    std::string saved = h.save_buffer(), streamed;
    std::size_t used = 0, at = 0;

    h.save_stream([&](std::string_view bytes) {
        streamed += bytes;
        return true;
    });
    CHECK(streamed == saved);
    CHECK(Handle::load_buffer(saved + "more", {}, &used).save_buffer() == saved);
    CHECK(used == saved.size());
    Handle loaded = Handle::load_stream([&](weir::span<char> out) {
        bool enough = out.size() <= saved.size() - at;

        if (enough)
            std::memcpy(out.data(), saved.data() + at, out.size());
        at += out.size();
        return enough;
    });
    CHECK(loaded.save_buffer() == saved && loaded.clone().save_buffer() == saved);

    std::string path = std::filesystem::temp_directory_path() / "weir-cpp-XXXXXX";
    CHECK(mkdtemp(path.data()));
    h.save_file(path + "/saved");
    CHECK(Handle::load_file(path + "/saved").save_buffer() == saved);
    std::filesystem::remove_all(path);
    thrown_by<weir::error>([&] { h.save_file(path + "/saved"); });
    thrown_by<weir::error>([&] { Handle::load_file(path + "/saved"); });
}

void every_handle_round_trips()
{
    weir::filter f("recent memory=64K seed=1");
    weir::sketch s("top memory=64K seed=1");
    weir::screen c("cache memory=64K seed=1");

    f.observe_many(some_keys(1000));
    s.add_many(some_keys(1000));
    c.check("a", [](auto, auto out) { out[0] = WEIR_MEMBER; });
    round_trip(f);
    round_trip(s);
    round_trip(c);

    std::string saved = f.save_buffer();
    weir::filter view = weir::filter::view_buffer(saved);
    CHECK(view.ask("key 0") && !view.ask("x"));
    CHECK(thrown_by<weir::error>([&] { view.clone(); }).status() == WEIR_UNSUPPORTED);
}

void a_sink_or_source_can_fail_or_throw()
{
    weir::filter f("recent memory=64K seed=1");
    auto fail = [](auto) { return false; };
    auto raise = [](auto) -> bool { throw std::out_of_range("mine"); };

    CHECK(thrown_by<weir::error>([&] { f.save_stream(fail); }).status() == WEIR_WRITE_FAILED);
    CHECK(thrown_by<weir::error>([&] { weir::filter::load_stream(fail); }).status() ==
          WEIR_BAD_DATA);
    CHECK(thrown_by<std::out_of_range>([&] { f.save_stream(raise); }).what() ==
          std::string("mine"));
    CHECK(thrown_by<std::out_of_range>([&] { weir::filter::load_stream(raise); }).what() ==
          std::string("mine"));
}

// ---- the other handles ----

void shared_filters_serve_threads()
{
    weir::shared s("recent memory=1M seed=1", 4);
    strings keys = some_keys(2000);
    verdicts found[2] = {verdicts(keys.size()), verdicts(keys.size())};
    std::size_t fresh = 0;

    std::thread other([&] { s.observe_many(keys, found[0]); });
    s.observe_many(s.hash_many(keys), found[1]);
    other.join();
    for (const verdicts &v : found)
        fresh += static_cast<std::size_t>(std::count(v.begin(), v.end(), WEIR_NEW));
    CHECK(s.shards() == 4 && s.stats().observed == 4000 && fresh == s.stats().new_keys);
    CHECK(s.ask(keys[0]) && !s.ask("x") && !s.observe("x") && s.ask(s.hash("x")));
    CHECK(s.ask_many(keys) == verdicts(keys.size(), WEIR_SEEN));

    weir::shared loaded = weir::shared::load_buffer(s.save_buffer());
    CHECK(loaded.shards() == 4 && loaded.ask("x") && loaded.spec() == s.spec());
    CHECK(thrown_by<weir::error>([] { weir::shared("recent", 1000); }).status() == WEIR_BAD_CONFIG);
}

void builders_make_filters()
{
    weir::builder b("fuse fpr=0.4% seed=1");
    strings keys = some_keys(2000);

    CHECK(b.spec().find("seed=1") != std::string::npos);
    b.add("first");
    b.add_many(keys);
    weir::filter f = b.finish();
    CHECK(f.ask("first") && f.ask_many(keys) == verdicts(keys.size(), WEIR_SEEN));
    CHECK(!b.get());
    thrown_by<std::logic_error>([&] { b.add("more"); });
    thrown_by<std::logic_error>([&] { b.finish(); });

    counted memory;
    {
        weir::builder dropped("fuse seed=1", memory);
        dropped.add_many(keys);
        weir::builder moved = std::move(dropped);
        moved.add_many(f.hash_many(keys));
    }
    CHECK(memory.blocks == 0);

    weir::builder full("cuckoo capacity=64 seed=1");
    CHECK(thrown_by<weir::error>([&] { full.add_many(some_keys(1009)); }).status() == WEIR_FULL);
    thrown_by<std::logic_error>([&] { full.finish(); });
}

void sketches_count()
{
    weir::sketch s("top memory=64K seed=1"), c("count-min memory=64K update=plain seed=1");
    strings keys = {"the", "cat", "the"};

    s.add_many(keys);
    s.add("dog", 5);
    s.add_many(keys, std::vector<std::uint64_t>{10, 20, 30});
    CHECK(s.ask("the").count == 42 && s.ask_many(keys)[1].count == 21);
    std::vector<weir::heavy> top = s.top(2);
    CHECK(top.size() == 2 && top[0].key == "the" && top[0].count == 42 && top[1].key == "cat");
    CHECK(s.top(100).size() == 3 && s.stats().total == 68);
    thrown_by<std::invalid_argument>([&] { s.add_many(keys, std::vector<std::uint64_t>{1}); });

    c.add_many(keys);
    c.take("the");
    CHECK(c.ask("the").count == 1 && c.top(3).empty());
    c.merge(c.clone());
    CHECK(c.ask("the").count == 2);

    weir::sketch fades("count-min memory=64K half-life=1s seed=1");
    fades.add_many(strings{"a", "b"}, std::vector<std::uint64_t>{1000, 1000},
                   std::vector<std::uint64_t>{0, 10000});
    CHECK(fades.ask("a").count < 10 && fades.ask("b").count >= 1000);

    strings many = some_keys(2000); // more than one internal batch
    std::vector<std::uint64_t> amounts(many.size()), times(many.size());
    weir::sketch batch("count-min memory=64K half-life=1s seed=1"), one = batch.clone();
    for (std::size_t i = 0; i < many.size(); i++) {
        amounts[i] = i + 1000;
        times[i] = i;
        one.advance(i);
        one.add(many[i], amounts[i]);
    }
    batch.add_many(many, amounts, times);
    CHECK(batch.save_buffer() == one.save_buffer());
    CHECK(batch.ask_many(many)[1999].count == one.ask(many[1999]).count);
}

void screens_ask_the_store_once()
{
    weir::screen s("cache memory=64K seed=1");
    strings keys = some_keys(3000);
    verdicts out(keys.size());
    std::size_t asked = 0, calls = 0;
    std::function<bool(weir::span<const std::string_view>, weir::span<std::uint8_t>)> store =
        [&](weir::span<const std::string_view> unknown, weir::span<std::uint8_t> answers) {
            calls++;
            asked += unknown.size();
            for (std::size_t i = 0; i < unknown.size(); i++)
                if (unknown[i] != "key 1")
                    answers[i] = unknown[i].back() == '0' ? WEIR_MEMBER : WEIR_OTHER;
            return true;
        };
    std::size_t left = s.check_many(keys, store, out);

    for (std::size_t i = 0; i < keys.size(); i++)
        CHECK(out[i] == (keys[i] == "key 1"      ? WEIR_UNANSWERED
                         : keys[i].back() == '0' ? WEIR_MEMBER
                                                 : WEIR_OTHER));
    CHECK(left == static_cast<std::size_t>(std::count(keys.begin(), keys.end(), "key 1")));
    CHECK(calls == 1 && asked == 505); // the quadratic residues below 1009
    CHECK(s.check("key 0", store) == WEIR_MEMBER && asked == 505);
    thrown_by<std::invalid_argument>([&] { s.check_many(strings{"a"}, store, out); });
}

void a_throwing_store_ends_the_check()
{
    weir::screen s("cache memory=64K seed=1");
    strings keys = {"a", "b", "c"};
    verdicts out(3, 77);
    int calls = 0;

    s.check("a", [](auto, auto answers) { answers[0] = WEIR_MEMBER; });
    std::string what = thrown_by<std::out_of_range>([&] {
                           s.check_many(
                               keys,
                               [&](auto, auto answers) {
                                   calls++;
                                   answers[0] = WEIR_MEMBER;
                                   throw std::out_of_range("database is gone");
                               },
                               out);
                       }).what();
    CHECK(what == "database is gone" && calls == 1);
    for (std::uint8_t answer : out)
        CHECK(answer <= WEIR_UNANSWERED);
    CHECK(out[0] == WEIR_MEMBER && out[2] == WEIR_UNANSWERED);
    CHECK(s.check("c", [](auto, auto answers) { answers[0] = WEIR_OTHER; }) == WEIR_OTHER);
}

void screens_hold_sets()
{
    weir::screen s("strict memory=64K seed=1");
    auto yes = [](auto, auto answers) { answers[0] = WEIR_MEMBER; };
    auto never = [](auto, auto) { throw std::logic_error("asked"); };
    weir::filter set("bloom memory=1K seed=1"), foreign("bloom memory=1K seed=2");

    CHECK(s.needs_set());
    s.add_members(strings{"a", "b"});
    CHECK(!s.needs_set() && s.check("a", yes) == WEIR_MEMBER && s.check("x", never) == WEIR_OTHER);
    set.observe("x");
    s.attach_set(set);
    CHECK(s.check("x", yes) == WEIR_MEMBER);
    CHECK(thrown_by<weir::error>([&] { s.attach_set(foreign); }).status() == WEIR_MISMATCH);
    s.clear_set();
    CHECK(s.needs_set() && s.stats().checked == 3);
}

} // namespace

int main()
{
#define TEST(name)                                                                                 \
    {                                                                                              \
#name, name                                                                                \
    }
    struct {
        const char *name;
        void (*run)();
    } const tests[] = {
        TEST(spans_view_contiguous_containers),
        TEST(a_filter_answers_as_in_c),
        TEST(a_batch_equals_single_calls),
        TEST(batches_take_any_contiguous_keys),
        TEST(times_and_importance_reach_the_filter),
        TEST(keys_are_forgotten_counted_and_merged),
        TEST(errors_have_a_status_and_a_text),
        TEST(handles_move_and_close_once),
        TEST(options_limit_memory),
        TEST(every_handle_round_trips),
        TEST(a_sink_or_source_can_fail_or_throw),
        TEST(shared_filters_serve_threads),
        TEST(builders_make_filters),
        TEST(sketches_count),
        TEST(screens_ask_the_store_once),
        TEST(a_throwing_store_ends_the_check),
        TEST(screens_hold_sets),
    };
    int number = 0, failed = 0;

    std::printf("1..%zu\n", std::size(tests));
    for (const auto &test : tests) {
        number++;
        try {
            test.run();
            std::printf("ok %d - %s\n", number, test.name);
        } catch (const std::exception &e) {
            std::printf("not ok %d - %s\n# %s\n", number, test.name, e.what());
            failed++;
        }
    }
    return failed > 0;
}
