// Package weir deduplicates unbounded streams in constant memory. It calls libweir through cgo.
//
//	seen, err := weir.Open("recent memory=64M fpr=0.1%")
//	if err != nil {
//		log.Fatal(err)
//	}
//	defer seen.Close()
//	if !seen.ObserveString(url) {
//		fmt.Println(url)
//	}
//
// A key is a sequence of bytes. A string is its UTF-8, an integer is its decimal text, as in all
// bindings: ObserveInt(42) and ObserveString("42") use the same key.
//
// A Filter can be used by several goroutines; its calls are serialized.
package weir

/*
#cgo pkg-config: weir
#include <stdlib.h>
#include <weir/saved.h>

// Whether a filter can record keys. A fixed set cannot.
static bool can_observe(const weir_filter *f)
{
	char spec[WEIR_SPEC_MAX];
	uint64_t traits = 0;

	weir_config(f, spec, sizeof spec);
	weir_spec_traits(WEIR_KIND_FILTER, spec, &traits, NULL);
	return traits & WEIR_CAN_OBSERVE;
}

// The offset of the first filter in saved data: after the notes.
static size_t skip_notes(const char *data, size_t size)
{
	struct weir_part part;
	size_t at = 0;

	while (weir_part_head(data + at, size - at, &part, sizeof part, NULL) == WEIR_OK &&
	       part.kind == WEIR_PART_NOTE && part.size < size - at)
		at += part.size;
	return at;
}

// Keys in one block: key i ends at ends[i]. Go cannot pass pointers to pointers. ttls may be NULL.
static void process_packed(weir_filter *f, const char *data, const size_t *ends, size_t n,
                           const uint64_t *ttls, int observe, uint8_t *seen)
{
	struct weir_bytes keys[512];
	struct weir_key hashed[512];
	size_t from = 0;

	for (size_t i = 0; i < n;) {
		size_t m = 0;

		for (; m < 512 && i + m < n; from = ends[i + m], m++)
			keys[m] = (struct weir_bytes){data + from, ends[i + m] - from};
		if (ttls) {
			weir_hash_many(f, keys, m, hashed);
			weir_observe_many_ttl(f, hashed, NULL, ttls + i, m, seen + i);
		} else if (observe)
			weir_observe_bytes_many(f, keys, m, seen + i);
		else
			weir_ask_bytes_many(f, keys, m, seen + i);
		i += m;
	}
}
*/
import "C"

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// Error is an error of the library. Its text contains the problem and the fix.
type Error struct {
	Code string // for programs: "unknown-parameter"; enum weir_error_code lists all codes
	Text string
}

func (e *Error) Error() string { return "weir: " + e.Text }

func errorOf(e *C.struct_weir_error) error {
	return &Error{C.GoString(C.weir_error_name(e.code)), C.GoString(&e.text[0])}
}

// ErrClosed is the panic value of a call on a closed Filter.
var ErrClosed = fmt.Errorf("weir: the filter is closed")

// ErrFixed is the panic value of a call that would change a fixed set, which was loaded from a file.
var ErrFixed = fmt.Errorf("weir: a fixed set cannot be changed; build another one")

// textOf returns a string for C, which ends at the first NUL. Free it.
func textOf(what, text string) (*C.char, error) {
	if strings.IndexByte(text, 0) >= 0 {
		return nil, &Error{"invalid-argument", fmt.Sprintf("%s %q contains a NUL byte", what, text)}
	}
	return C.CString(text), nil
}

// Stats are statistics of a filter.
type Stats struct {
	Memory   uint64  // bytes of cells, at most memory=
	Bytes    uint64  // all memory of the filter
	Observed uint64  // keys observed
	Seen     uint64  // of these, reported as seen
	New      uint64  // of these, reported as new
	Fill     float64 // share of cells in use
	Error    float64 // current false-positive rate
	Lost     uint64  // keys evicted before the end of window= or span=
	Overflow uint64  // observations that a full filter could not store
}

// Filter reports for each key whether it was observed before.
type Filter struct {
	mu    sync.Mutex
	c     *C.weir_filter
	fixed bool
	data  []byte     // keys of a part of a batch
	ends  []C.size_t // and where each of them ends
}

func wrap(c *C.weir_filter) *Filter {
	f := &Filter{c: c, fixed: !bool(C.can_observe(c))}
	runtime.SetFinalizer(f, (*Filter).Close)
	return f
}

// Open opens a filter from a spec, "NAME parameter=value ..."; see docs/filters.md. The empty spec
// opens the default.
func Open(spec string) (*Filter, error) {
	text, err := textOf("spec", spec)
	if err != nil {
		return nil, err
	}
	defer C.free(unsafe.Pointer(text))
	var c *C.weir_filter
	var e C.struct_weir_error
	if C.weir_open(&c, text, &e) != C.WEIR_OK {
		return nil, errorOf(&e)
	}
	return wrap(c), nil
}

// keysAsGiven returns an error if the keys in saved data were changed before they were hashed, for
// example by --ignore-case of the command. Keys that are used as given would match nothing.
func keysAsGiven(data []byte) error {
	var keys [C.WEIR_KEY_DESCRIPTION_MAX]C.char
	if len(data) == 0 || C.weir_saved_key_description(unsafe.Pointer(&data[0]), C.size_t(len(data)), &keys[0], C.WEIR_KEY_DESCRIPTION_MAX) == 0 {
		return nil
	}
	return &Error{"mismatch", fmt.Sprintf("the keys in this file were made with %s, but here keys are used as given", C.GoString(&keys[0]))}
}

// mapped calls check with the bytes of a file, and not at all if it cannot be mapped.
func mapped(path string, check func([]byte) error) error {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	about, err := file.Stat()
	if err != nil || !about.Mode().IsRegular() || about.Size() == 0 {
		return nil
	}
	data, err := syscall.Mmap(int(file.Fd()), 0, int(about.Size()), syscall.PROT_READ, syscall.MAP_PRIVATE)
	if err != nil {
		return nil
	}
	defer syscall.Munmap(data)
	return check(data)
}

// Load loads the first filter of a file, which Save or the command wrote.
func Load(path string) (*Filter, error) {
	text, err := textOf("path", path)
	if err != nil {
		return nil, err
	}
	defer C.free(unsafe.Pointer(text))
	if err := mapped(path, keysAsGiven); err != nil {
		return nil, err
	}
	var c *C.weir_filter
	var e C.struct_weir_error
	if C.weir_load_file(&c, text, nil, &e) != C.WEIR_OK {
		return nil, errorOf(&e)
	}
	return wrap(c), nil
}

// Unmarshal loads the first filter from the bytes of Marshal or of a file.
func Unmarshal(data []byte) (*Filter, error) {
	if len(data) == 0 {
		return nil, &Error{"truncated", "no bytes; use those of Marshal"}
	}
	if err := keysAsGiven(data); err != nil {
		return nil, err
	}
	data = data[C.skip_notes((*C.char)(unsafe.Pointer(&data[0])), C.size_t(len(data))):]
	var c *C.weir_filter
	var e C.struct_weir_error
	if C.weir_load_buffer(&c, unsafe.Pointer(&data[0]), C.size_t(len(data)), nil, nil, &e) != C.WEIR_OK {
		return nil, errorOf(&e)
	}
	return wrap(c), nil
}

// lock returns the C filter. It panics if the filter is closed.
func (f *Filter) lock() *C.weir_filter {
	f.mu.Lock()
	if f.c == nil {
		f.mu.Unlock()
		panic(ErrClosed)
	}
	return f.c
}

// lockToChange is lock for calls that change keys. It panics if the filter is a fixed set.
func (f *Filter) lockToChange() *C.weir_filter {
	c := f.lock()
	if f.fixed {
		f.mu.Unlock()
		panic(ErrFixed)
	}
	return c
}

// Close frees the filter's memory. Closing twice is allowed. A filter that is not closed is freed
// when it is garbage-collected.
func (f *Filter) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	C.weir_close(f.c)
	f.c = nil
	runtime.SetFinalizer(f, nil)
	return nil
}

// Save writes the filter to a file, which is replaced atomically.
func (f *Filter) Save(path string) error {
	text, err := textOf("path", path)
	if err != nil {
		return err
	}
	defer C.free(unsafe.Pointer(text))
	c := f.lock()
	defer f.mu.Unlock()
	var e C.struct_weir_error
	if C.weir_save_file(c, text, &e) != C.WEIR_OK {
		return errorOf(&e)
	}
	return nil
}

// Marshal returns what Save writes.
func (f *Filter) Marshal() ([]byte, error) {
	c := f.lock()
	defer f.mu.Unlock()
	data := make([]byte, int(C.weir_saved_size(c)))
	var e C.struct_weir_error
	if C.weir_save_buffer(c, unsafe.Pointer(&data[0]), C.size_t(len(data)), &e) == 0 {
		return nil, errorOf(&e)
	}
	return data, nil
}

// WriteTo writes what Save writes.
func (f *Filter) WriteTo(w io.Writer) (int64, error) {
	data, err := f.Marshal()
	if err != nil {
		return 0, err
	}
	n, err := w.Write(data)
	return int64(n), err
}

// start is the address of the first byte; C accepts NULL for an empty key.
func start(key []byte) unsafe.Pointer {
	if len(key) == 0 {
		return nil
	}
	return unsafe.Pointer(&key[0])
}

// Observe reports whether a key was probably observed before, then records it. As ObserveMany and
// Clear, it panics if the filter is a fixed set.
func (f *Filter) Observe(key []byte) bool {
	c := f.lockToChange()
	defer f.mu.Unlock()
	return C.weir_observe_bytes(c, start(key), C.size_t(len(key))) == C.WEIR_SEEN
}

// ObserveString observes the UTF-8 of a string.
func (f *Filter) ObserveString(key string) bool { return f.Observe([]byte(key)) }

// ObserveInt observes the decimal text of an integer.
func (f *Filter) ObserveInt(key int64) bool { return f.Observe(Int(key)) }

// Ask reports whether a key was probably observed before. It records nothing.
func (f *Filter) Ask(key []byte) bool {
	c := f.lock()
	defer f.mu.Unlock()
	return C.weir_ask_bytes(c, start(key), C.size_t(len(key))) == C.WEIR_SEEN
}

// Int returns the key of an integer: its decimal text.
func Int(n int64) []byte { return strconv.AppendInt(nil, n, 10) }

// ObserveMany observes keys in order and returns for each whether it was seen. The result equals
// that of single calls and is several times as fast.
func (f *Filter) ObserveMany(keys [][]byte) []bool { return f.process(keys, nil, 1) }

// AskMany looks keys up without recording them.
func (f *Filter) AskMany(keys [][]byte) []bool { return f.process(keys, nil, 0) }

// ObserveTTL observes a key that expires ttl after the time of Advance, in a filter with ttl=.
// Milliseconds count. A key whose TTL is 0 or negative is looked up and not recorded. Without a
// TTL, as in Observe, a key gets the longest of the filter. Filters without ttl= ignore it.
func (f *Filter) ObserveTTL(key []byte, ttl time.Duration) bool {
	return f.ObserveManyTTL([][]byte{key}, []time.Duration{ttl})[0]
}

// ObserveManyTTL observes keys with a TTL each. It panics if there are not as many TTLs as keys.
func (f *Filter) ObserveManyTTL(keys [][]byte, ttls []time.Duration) []bool {
	if len(keys) != len(ttls) {
		panic(fmt.Sprintf("weir: %d keys, but %d TTLs; pass one TTL for each key", len(keys),
			len(ttls)))
	}
	ms := make([]C.uint64_t, len(ttls))
	for i, ttl := range ttls {
		if ttl > 0 {
			ms[i] = C.uint64_t(ttl.Milliseconds())
		}
	}
	return f.process(keys, ms, 1)
}

// part is the number of keys that are copied for one call of C. More are not faster.
const part = 8192

func (f *Filter) process(keys [][]byte, ttls []C.uint64_t, observe C.int) []bool {
	seen := make([]bool, len(keys))
	lock := f.lock
	if observe != 0 {
		lock = f.lockToChange
	}
	c := lock()
	defer f.mu.Unlock()
	if f.ends == nil {
		f.ends = make([]C.size_t, part)
	}
	for from := 0; from < len(keys); from += part {
		some := keys[from:min(from+part, len(keys))]
		data, ends := f.data[:0], f.ends[:len(some)]
		for i, key := range some {
			data = append(data, key...)
			ends[i] = C.size_t(len(data))
		}
		f.data = append(data, 0) // not empty, so that it has an address
		// A bool of Go is a byte that is 0 or 1, as a verdict is.
		var ttl *C.uint64_t
		if ttls != nil {
			ttl = &ttls[from]
		}
		C.process_packed(c, (*C.char)(unsafe.Pointer(&f.data[0])), &ends[0], C.size_t(len(some)),
			ttl, observe, (*C.uint8_t)(unsafe.Pointer(&seen[from])))
	}
	return seen
}

func min(a, b int) int {
	if a < b {
		return a
	}
	return b
}

// Advance sets the time of a filter with span= or ttl=. Earlier times are ignored.
func (f *Filter) Advance(now time.Time) {
	c := f.lock()
	defer f.mu.Unlock()
	if ms := now.UnixMilli(); ms >= 0 {
		C.weir_advance(c, C.uint64_t(ms))
	}
}

// Forget removes one observation of a key and reports whether it was present.
func (f *Filter) Forget(key []byte) (bool, error) {
	c := f.lock()
	defer f.mu.Unlock()
	var e C.struct_weir_error
	var present C.bool
	hashed := C.weir_hash(c, start(key), C.size_t(len(key)))
	if C.weir_forget(c, hashed, &present, &e) != C.WEIR_OK {
		return false, errorOf(&e)
	}
	return bool(present), nil
}

// Clear removes all keys. The filter is then as after Open with the same seed.
func (f *Filter) Clear() {
	c := f.lockToChange()
	defer f.mu.Unlock()
	C.weir_clear(c)
}

// Clone returns a copy with its own memory.
func (f *Filter) Clone() (*Filter, error) {
	c := f.lock()
	defer f.mu.Unlock()
	var e C.struct_weir_error
	copied := C.weir_clone(c, &e)
	if copied == nil {
		return nil, errorOf(&e)
	}
	return wrap(copied), nil
}

// Merge adds the keys of another filter with the same spec and seed=.
func (f *Filter) Merge(other *Filter) error {
	from, err := other.Clone() // so that two goroutines can merge in both directions
	if err != nil {
		return err
	}
	defer from.Close()
	c := f.lock()
	defer f.mu.Unlock()
	var e C.struct_weir_error
	if C.weir_merge(c, from.c, &e) != C.WEIR_OK {
		return errorOf(&e)
	}
	return nil
}

// Spec returns the complete spec; it opens an equal filter.
func (f *Filter) Spec() string {
	c := f.lock()
	defer f.mu.Unlock()
	var text [C.WEIR_SPEC_MAX]C.char
	C.weir_config(c, &text[0], C.WEIR_SPEC_MAX)
	return C.GoString(&text[0])
}

// Stats returns statistics of the filter.
func (f *Filter) Stats() Stats {
	c := f.lock()
	defer f.mu.Unlock()
	var s C.struct_weir_stats
	C.weir_measure(c, &s, C.sizeof_struct_weir_stats)
	return Stats{uint64(s.memory), uint64(s.bytes), uint64(s.observed), uint64(s.seen), uint64(s.new_keys),
		float64(s.fill), float64(s.error), uint64(s.lost), uint64(s.overflow)}
}
