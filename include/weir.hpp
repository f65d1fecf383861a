/* weir.hpp - the library for C++17: handles that close themselves, std::string_view keys,
 * exceptions. Header only; link with -lweir.
 *
 *     weir::filter seen("recent memory=64M fpr=0.1%");
 *     for (std::string line; std::getline(std::cin, line);)
 *         if (!seen.observe(line))
 *             std::cout << line << '\n';
 *
 * weir::filter, weir::shared, weir::builder, weir::sketch and weir::screen own a handle of the
 * C library. They can be moved but not copied; clone() makes a copy. The C headers describe the
 * specs, results, costs and thread rules. get() returns the C handle for calls that have no
 * method here.
 *
 * Errors: calls that can fail throw weir::error. observe(), ask(), add() and their batches throw
 * only if a span has the wrong size (std::invalid_argument) or memory runs out. Do not call
 * methods of an object that was moved from; assign to it or destroy it.
 *
 * Batches: `keys` is a std::vector, std::array, C array or span of elements that convert to
 * std::string_view, or of weir_key from hash(). Batches are several times as fast as single
 * calls and give the same answers. */
#ifndef WEIR_HPP
#define WEIR_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <weir.h>
#include <weir/build.h>
#include <weir/saved.h>
#include <weir/screen.h>
#include <weir/shared.h>
#include <weir/sketch.h>

namespace weir
{

/* What the library reports when a call fails. what() is for people; programs use status()
 * and code(). */
class error : public std::runtime_error
{
  public:
    explicit error(const weir_error &e) : std::runtime_error(e.text), c_(e) {}

    weir_status status() const noexcept { return static_cast<weir_status>(c_.status); }

    weir_error_code code() const noexcept { return static_cast<weir_error_code>(c_.code); }

  private:
    weir_error c_;
};

/* The options of weir_open_with(): max_bytes, allocator. The allocator must not throw. */
struct options : weir_options {
    options() : weir_options{} { size = sizeof(weir_options); }
};

/* A pointer and a size, with the interface of C++20's std::span. Owns nothing. */
template <class T> class span
{
  public:
    using element_type = T;
    using value_type = std::remove_cv_t<T>;
    using size_type = std::size_t;
    using iterator = T *;

    constexpr span() noexcept = default;
    constexpr span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}
    /* From std::vector, std::array, C arrays and other contiguous containers. */
    template <class C,
              class = std::enable_if_t<std::is_convertible_v<
                  std::remove_pointer_t<decltype(std::data(std::declval<C &>()))> (*)[], T (*)[]>>>
    constexpr span(C &&c) noexcept : data_(std::data(c)), size_(std::size(c))
    {
    }

    constexpr T *data() const noexcept { return data_; }
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr bool empty() const noexcept { return size_ == 0; }
    constexpr T *begin() const noexcept { return data_; }
    constexpr T *end() const noexcept { return data_ + size_; }
    constexpr T &operator[](std::size_t i) const noexcept { return data_[i]; }
    constexpr span subspan(std::size_t offset, std::size_t count) const noexcept
    {
        return span(data_ + offset, count);
    }

  private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

/* Not part of the interface. */
namespace detail
{

/* Call a C function whose last parameter is the error. */
template <class F, class... A> void run(F call, A... arguments)
{
    weir_error e;

    if (call(arguments..., &e) != WEIR_OK)
        throw error(e);
}

/* The same for one that makes a T. */
template <class T, class F, class... A> T *make(F call, A... arguments)
{
    T *made;

    run(call, &made, arguments...);
    return made;
}

inline void require_size(std::size_t size, std::size_t expected, const char *what)
{
    if (size != expected)
        throw std::invalid_argument("weir: " + std::to_string(size) + " " + what + " for " +
                                    std::to_string(expected) + " keys; pass one for each key");
}

/* A callable that the C library calls. An exception must not cross C: it ends the call and is
 * thrown again by rethrow(). A callable that returns void succeeds. */
template <class F> class guarded
{
  public:
    explicit guarded(F &f) : f_(f) {}

    template <class... A> bool operator()(A... arguments) noexcept
    {
        try {
            if constexpr (std::is_void_v<std::invoke_result_t<F &, A...>>)
                return std::invoke(f_, arguments...), true;
            else
                return static_cast<bool>(std::invoke(f_, arguments...));
        } catch (...) {
            thrown_ = std::current_exception();
            return false;
        }
    }

    void rethrow() const
    {
        if (thrown_)
            std::rethrow_exception(thrown_);
    }

    /* detail::run(), but what the callable threw comes before the error that it caused. */
    template <class Call, class... A> void run(Call call, A... arguments) const
    {
        try {
            detail::run(call, arguments...);
        } catch (const error &) {
            rethrow();
            throw;
        }
    }

    static bool sink(void *self, const void *data, std::size_t size)
    {
        return (*static_cast<guarded *>(self))(
            std::string_view(static_cast<const char *>(data), size));
    }

    static bool source(void *self, void *data, std::size_t size)
    {
        return (*static_cast<guarded *>(self))(span<char>(static_cast<char *>(data), size));
    }

  private:
    F &f_;
    std::exception_ptr thrown_;
};

inline weir_bytes bytes_of(std::string_view key)
{
    return {key.data(), key.size()};
}

template <class Keys>
using element =
    std::remove_cv_t<std::remove_reference_t<decltype(*std::data(std::declval<const Keys &>()))>>;

/* Call f(bytes, first, n) for some hundred keys at a time. */
template <class Keys, class F> void in_batches(const Keys &keys, F f)
{
    static_assert(std::is_convertible_v<const element<Keys> &, std::string_view>,
                  "keys must convert to std::string_view or be weir_key");
    std::array<weir_bytes, 512> batch;
    const std::size_t size = std::size(keys);

    for (std::size_t first = 0, n; first < size; first += n) {
        n = std::min(size - first, batch.size());
        for (std::size_t i = 0; i < n; i++)
            batch[i] = bytes_of(std::data(keys)[first + i]);
        f(batch.data(), first, n);
    }
}

/* The C calls of each type of handle. */
template <class T> struct calls;

#define WEIR_CALLS_OF_ALL(prefix)                                                                  \
    static constexpr auto close = &prefix##_close;                                                 \
    static constexpr auto advance = &prefix##_advance;                                             \
    static constexpr auto measure = &prefix##_measure;                                             \
    static constexpr auto config = &prefix##_config;                                               \
    static constexpr auto save_stream = &prefix##_save_stream;                                     \
    static constexpr auto load_buffer = &prefix##_load_buffer;                                     \
    static constexpr auto save_file = &prefix##_save_file;                                         \
    static constexpr auto load_file = &prefix##_load_file;

#define WEIR_CALLS_OF_SINGLE(prefix)                                                               \
    static constexpr auto open = &prefix##_open_with;                                              \
    static constexpr auto clone = &prefix##_clone;                                                 \
    static constexpr auto clear = &prefix##_clear;                                                 \
    static constexpr auto merge = &prefix##_merge;                                                 \
    static constexpr auto load_stream = &prefix##_load_stream;

#define WEIR_CALLS_WITH_KEYS(prefix)                                                               \
    static constexpr auto hash = &prefix##_hash;                                                   \
    static constexpr auto hash_many = &prefix##_hash_many;                                         \
    static constexpr auto observe = &prefix##_observe;                                             \
    static constexpr auto observe_many = &prefix##_observe_many;                                   \
    static constexpr auto observe_many_at = &prefix##_observe_many_at;                             \
    static constexpr auto ask = &prefix##_ask;                                                     \
    static constexpr auto ask_many = &prefix##_ask_many;                                           \
    static constexpr auto forget = &prefix##_forget;

template <> struct calls<weir_filter> {
    using stats = weir_stats;
    WEIR_CALLS_OF_ALL(weir)
    WEIR_CALLS_OF_SINGLE(weir)
    WEIR_CALLS_WITH_KEYS(weir)
};
template <> struct calls<weir_shared> {
    using stats = weir_stats;
    WEIR_CALLS_OF_ALL(weir_shared)
    WEIR_CALLS_WITH_KEYS(weir_shared)
};
template <> struct calls<weir_sketch> {
    using stats = weir_sketch_stats;
    WEIR_CALLS_OF_ALL(weir_sketch)
    WEIR_CALLS_OF_SINGLE(weir_sketch)
};
template <> struct calls<weir_screen> {
    using stats = weir_screen_stats;
    WEIR_CALLS_OF_ALL(weir_screen)
    WEIR_CALLS_OF_SINGLE(weir_screen)
};

#undef WEIR_CALLS_OF_ALL
#undef WEIR_CALLS_OF_SINGLE
#undef WEIR_CALLS_WITH_KEYS

/* What filters, sketches, screens and shared filters have in common. Self is the class that
 * inherits this, T its C type. */
template <class Self, class T> class handle
{
  public:
    using stats_type = typename calls<T>::stats;

    /* Take over a C handle. */
    explicit handle(T *owned) noexcept : raw_(owned) {}

    /* The C handle; release() leaves closing it to the caller. */
    T *get() const noexcept { return raw_.get(); }
    T *release() noexcept { return raw_.release(); }

    /* The completed spec, which opens an equal handle. */
    std::string spec() const
    {
        char text[WEIR_SPEC_MAX];

        return std::string(text, calls<T>::config(get(), text, sizeof text));
    }

    stats_type stats() const noexcept
    {
        stats_type s;

        calls<T>::measure(get(), &s, sizeof s);
        return s;
    }

    /* Set the current time in milliseconds, for specs with span= or a half-life in time. */
    void advance(std::uint64_t now_ms) noexcept { calls<T>::advance(get(), now_ms); }

    /* Save to a string, or through write(std::string_view), which returns false or throws to
     * stop. */
    std::string save_buffer() const
    {
        std::string out;

        save_stream([&out](std::string_view bytes) { out.append(bytes); });
        return out;
    }
    template <class Write> void save_stream(Write &&write) const
    {
        guarded<Write> sink(write);

        sink.run(calls<T>::save_stream, get(), sink.sink, &sink);
    }

    /* Load what `bytes` begins with. *used, if not null, becomes the number of bytes read. */
    static Self load_buffer(std::string_view bytes, const options &o = {},
                            std::size_t *used = nullptr)
    {
        return Self(make<T>(calls<T>::load_buffer, bytes.data(), bytes.size(), used, &o));
    }

    /* Replace a file in one step: after a crash it is the old one or the new one. */
    void save_file(const std::string &path) const { run(calls<T>::save_file, get(), path.c_str()); }
    static Self load_file(const std::string &path, const options &o = {})
    {
        return Self(make<T>(calls<T>::load_file, path.c_str(), &o));
    }

  private:
    struct closer {
        void operator()(T *raw) const noexcept { calls<T>::close(raw); }
    };
    std::unique_ptr<T, closer> raw_;
};

/* What filters, sketches and screens have in common. */
template <class Self, class T> class single : public handle<Self, T>
{
  public:
    using handle<Self, T>::handle;
    using handle<Self, T>::get;

    explicit single(const std::string &spec, const options &o = {})
        : single(make<T>(calls<T>::open, spec.c_str(), &o))
    {
    }

    Self clone() const
    {
        weir_error e;
        T *raw = calls<T>::clone(get(), &e);

        if (!raw)
            throw error(e);
        return Self(raw);
    }

    /* Return to the state after opening, with the same seed. */
    void clear() noexcept { calls<T>::clear(get()); }

    /* Add the contents of another handle of the same spec and seed. */
    void merge(const Self &from) { run(calls<T>::merge, get(), from.get()); }

    /* Load through read(span<char>), which fills the span, and returns false or throws if it
     * cannot. */
    template <class Read> static Self load_stream(Read &&read, const options &o = {})
    {
        guarded<Read> source(read);
        T *raw;

        source.run(calls<T>::load_stream, &raw, source.source, &source, &o);
        return Self(raw);
    }
};

/* What filters and shared filters have in common. Keys are std::string_view, or weir_key from
 * hash(). */
template <class Self, class T> class observer
{
  public:
    using verdicts = std::vector<std::uint8_t>;

    /* Hash keys once for several calls, or to set their importance. */
    weir_key hash(std::string_view key) const noexcept
    {
        return calls<T>::hash(raw(), key.data(), key.size());
    }
    template <class Keys> std::vector<weir_key> hash_many(const Keys &keys) const
    {
        std::vector<weir_key> out(std::size(keys));

        in_batches(keys, [&](const weir_bytes *bytes, std::size_t first, std::size_t n) {
            calls<T>::hash_many(raw(), bytes, n, out.data() + first);
        });
        return out;
    }

    /* Report whether a key was probably observed before, then record it. */
    bool observe(std::string_view key) noexcept { return observe(hash(key)); }
    bool observe(const weir_key &key) noexcept
    {
        return calls<T>::observe(raw(), key) == WEIR_SEEN;
    }

    /* The same for each key in order: out[i] becomes WEIR_NEW (0) or WEIR_SEEN (1). */
    template <class Keys> void observe_many(const Keys &keys, span<std::uint8_t> out)
    {
        answer(calls<T>::observe_many, keys, out);
    }
    template <class Keys> verdicts observe_many(const Keys &keys)
    {
        verdicts out(std::size(keys));

        observe_many(keys, out);
        return out;
    }

    /* The same with the time of each key in milliseconds, for specs with span=. */
    template <class Keys>
    void observe_many_at(const Keys &keys, span<const std::uint64_t> times, span<std::uint8_t> out)
    {
        require_size(times.size(), std::size(keys), "times");
        answer(
            [&](T *to, const weir_key *hashed, std::size_t n, std::uint8_t *verdict) {
                calls<T>::observe_many_at(to, hashed, times.data(), n, verdict);
            },
            keys, out);
    }

    /* Report whether a key was probably observed; records nothing. */
    bool ask(std::string_view key) const noexcept { return ask(hash(key)); }
    bool ask(const weir_key &key) const noexcept { return calls<T>::ask(raw(), key) == WEIR_SEEN; }
    template <class Keys> void ask_many(const Keys &keys, span<std::uint8_t> out) const
    {
        answer(calls<T>::ask_many, keys, out);
    }
    template <class Keys> verdicts ask_many(const Keys &keys) const
    {
        verdicts out(std::size(keys));

        ask_many(keys, out);
        return out;
    }

    /* Remove one observation of a key; returns whether a matching fingerprint was found. */
    bool forget(std::string_view key) { return forget(hash(key)); }
    bool forget(const weir_key &key)
    {
        bool was_present;

        run(calls<T>::forget, raw(), key, &was_present);
        return was_present;
    }

  private:
    T *raw() const noexcept { return static_cast<const Self *>(this)->get(); }

    template <class Call, class Keys>
    void answer(Call call, const Keys &keys, span<std::uint8_t> out) const
    {
        require_size(out.size(), std::size(keys), "verdicts");
        if constexpr (std::is_same_v<element<Keys>, weir_key>)
            call(raw(), std::data(keys), std::size(keys), out.data());
        else
            answer(call, hash_many(keys), out);
    }
};

} // namespace detail

/* weir.h: was a key observed before? */
class filter : public detail::single<filter, weir_filter>,
               public detail::observer<filter, weir_filter>
{
  public:
    using single::single;

    /* A read-only filter over saved bytes, which must outlive it: see weir_view_buffer(). */
    static filter view_buffer(std::string_view bytes, const options &o = {},
                              std::size_t *used = nullptr)
    {
        return filter(
            detail::make<weir_filter>(weir_view_buffer, bytes.data(), bytes.size(), used, &o));
    }

    /* How many observations of the key are stored: 0 or 1 except for cuckoo. */
    std::uint32_t count(std::string_view key) const noexcept
    {
        return weir_count(get(), hash(key));
    }
};

/* weir/shared.h: one filter for many threads, which may call all methods at the same time. Moving
 * and destroying it are the exceptions. For tickets and single shards, use the C calls with
 * get(). Batches of thousands are best. */
class shared : public detail::handle<shared, weir_shared>,
               public detail::observer<shared, weir_shared>
{
  public:
    using handle::handle;

    explicit shared(const std::string &spec, std::uint32_t shards = 0, const options &o = {})
        : handle(detail::make<weir_shared>(weir_shared_open, spec.c_str(), shards, &o))
    {
    }

    std::uint32_t shards() const noexcept { return weir_shared_shards(get()); }
};

/* weir/build.h: make a filter of a set whose keys are all known. */
class builder
{
  public:
    explicit builder(const std::string &spec, const options &o = {})
        : raw_(detail::make<weir_builder>(weir_build_begin, spec.c_str(), &o))
    {
    }

    /* Null after finish(), and after add() or add_many() threw. */
    weir_builder *get() const noexcept { return raw_.get(); }

    /* The spec so far, with its seed. */
    std::string spec() const
    {
        char text[WEIR_SPEC_MAX];

        return std::string(text, weir_build_config(open(), text, sizeof text));
    }

    void add(std::string_view key) { add_many(span<const std::string_view>(&key, 1)); }
    template <class Keys> void add_many(const Keys &keys)
    {
        if constexpr (std::is_same_v<detail::element<Keys>, weir_key>)
            add_by(weir_build_add, std::data(keys), std::size(keys));
        else
            detail::in_batches(keys, [&](const weir_bytes *bytes, std::size_t, std::size_t n) {
                add_by(weir_build_add_bytes, bytes, n);
            });
    }

    /* Make the filter. The builder is empty afterwards, also if this throws. */
    filter finish()
    {
        weir_filter *out;

        open();
        detail::run(weir_build_finish, raw_.release(), &out);
        return filter(out);
    }

  private:
    struct canceller {
        void operator()(weir_builder *raw) const noexcept { weir_build_cancel(raw); }
    };

    weir_builder *open() const
    {
        if (!raw_)
            throw std::logic_error("weir: the builder is finished or failed; make another one");
        return raw_.get();
    }

    template <class Call, class Key> void add_by(Call call, const Key *keys, std::size_t n)
    {
        try {
            detail::run(call, open(), keys, n);
        } catch (const error &) {
            raw_.reset(); // what is left can only be cancelled
            throw;
        }
    }

    std::unique_ptr<weir_builder, canceller> raw_;
};

/* A key that a sketch keeps. */
struct heavy {
    std::string key;
    std::uint64_t count, error;
};

/* weir/sketch.h: how many times did a key occur? */
class sketch : public detail::single<sketch, weir_sketch>
{
  public:
    using single::single;

    void add(std::string_view key, std::uint64_t amount = 1) noexcept
    {
        weir_sketch_add(get(), detail::bytes_of(key), amount);
    }

    /* Add each key: amounts[i] times, or once if there are no amounts; at times[i] in
     * milliseconds, for sketches whose half-life is a time. */
    template <class Keys>
    void add_many(const Keys &keys, span<const std::uint64_t> amounts = {},
                  span<const std::uint64_t> times = {})
    {
        if (!amounts.empty())
            detail::require_size(amounts.size(), std::size(keys), "amounts");
        if (!times.empty())
            detail::require_size(times.size(), std::size(keys), "times");
        detail::in_batches(keys, [&](const weir_bytes *bytes, std::size_t at, std::size_t n) {
            const std::uint64_t *a = amounts.empty() ? nullptr : amounts.data() + at;

            if (times.empty())
                weir_sketch_add_many(get(), bytes, a, n);
            else
                weir_sketch_add_many_at(get(), bytes, a, times.data() + at, n);
        });
    }

    /* Subtract from the count of a key: count-min with update=plain only. */
    void take(std::string_view key, std::uint64_t amount = 1)
    {
        detail::run(weir_sketch_take, get(), detail::bytes_of(key), amount);
    }

    /* The estimated count of a key and the maximum error. */
    weir_estimate ask(std::string_view key) const noexcept
    {
        return weir_sketch_ask(get(), detail::bytes_of(key));
    }
    template <class Keys> std::vector<weir_estimate> ask_many(const Keys &keys) const
    {
        std::vector<weir_estimate> out(std::size(keys));

        detail::in_batches(keys, [&](const weir_bytes *bytes, std::size_t first, std::size_t n) {
            weir_sketch_ask_many(get(), bytes, n, out.data() + first);
        });
        return out;
    }

    /* Up to n keys with the highest counts, highest first. */
    std::vector<heavy> top(std::size_t n) const
    {
        std::vector<weir_heavy> found(std::min<std::size_t>(n, stats().keys));
        std::vector<heavy> out;

        found.resize(weir_sketch_top(get(), found.data(), found.size()));
        out.reserve(found.size());
        for (const weir_heavy &h : found)
            out.push_back({{static_cast<const char *>(h.key.data), h.key.size}, h.count, h.error});
        return out;
    }
};

/* weir/screen.h: is a key in a set that a slow store knows?
 *
 * A store is any callable store(span<const std::string_view> keys, span<uint8_t> answers). It
 * sets answers[i] to WEIR_MEMBER or WEIR_OTHER; keys that it leaves alone stay WEIR_UNANSWERED.
 * It may return void or bool; false ends the check. What it throws ends the check too, and is
 * thrown by check() or check_many(). The store must not use the screen that calls it. */
class screen : public detail::single<screen, weir_screen>
{
  public:
    using single::single;

    /* Whether the screen holds the set and has not received it yet. */
    bool needs_set() const noexcept { return weir_screen_needs_set(get()); }
    template <class Keys> void add_members(const Keys &keys)
    {
        detail::in_batches(keys, [&](const weir_bytes *bytes, std::size_t, std::size_t n) {
            weir_screen_add_members(get(), bytes, n);
        });
    }
    /* The filter must outlive the screen or its next clear_set(). */
    void attach_set(const filter &set) { detail::run(weir_screen_attach_set, get(), set.get()); }
    void attach_set(filter &&) = delete;
    void clear_set() noexcept { weir_screen_clear_set(get()); }

    /* Answer one key. */
    template <class Store> weir_answer check(std::string_view key, Store &&store)
    {
        std::uint8_t answer;

        check_many(span<const std::string_view>(&key, 1), store, span<std::uint8_t>(&answer, 1));
        return static_cast<weir_answer>(answer);
    }

    /* Answer each key in order: answers[i] becomes WEIR_OTHER, WEIR_MEMBER or WEIR_UNANSWERED.
     * Returns how many are WEIR_UNANSWERED. If the store throws, answers[] is valid and the
     * rest is WEIR_UNANSWERED. */
    template <class Keys, class Store>
    std::size_t check_many(const Keys &keys, Store &&store, span<std::uint8_t> answers)
    {
        std::vector<weir_bytes> bytes(std::size(keys));
        auto ask = [&store](const weir_bytes *asked, std::size_t n, std::uint8_t *out) {
            std::vector<std::string_view> views;

            views.reserve(n);
            for (std::size_t i = 0; i < n; i++)
                views.emplace_back(static_cast<const char *>(asked[i].data), asked[i].size);
            return std::invoke(store, span<const std::string_view>(views),
                               span<std::uint8_t>(out, n));
        };
        detail::guarded<decltype(ask)> guard(ask);
        auto call = [](void *self, const weir_bytes *asked, std::size_t n, std::uint8_t *out) {
            return (*static_cast<decltype(guard) *>(self))(asked, n, out);
        };
        std::size_t unanswered;

        detail::require_size(answers.size(), std::size(keys), "answers");
        detail::in_batches(keys, [&](const weir_bytes *batch, std::size_t first, std::size_t n) {
            std::copy_n(batch, n, bytes.data() + first);
        });
        unanswered =
            weir_screen_check(get(), bytes.data(), bytes.size(), call, &guard, answers.data());
        guard.rethrow();
        return unanswered;
    }
};

} // namespace weir

#endif
