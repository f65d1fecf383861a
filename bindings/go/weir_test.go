package weir

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const vectors = "../../tests/vectors/"

func open(t testing.TB, spec string) *Filter {
	t.Helper()
	f, err := Open(spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// The values of tests/vectors/keys.tsv as keys, and their verdicts.
func readVectors(t *testing.T) (keys [][]byte, seen []bool) {
	text, err := os.ReadFile(vectors + "keys.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n")[1:] {
		field := strings.Split(line, "\t")
		key, _ := hex.DecodeString(field[1])
		if field[0] == "int" {
			n, _ := strconv.ParseInt(field[1], 10, 64)
			key = Int(n)
		}
		if hex.EncodeToString(key) != field[2] {
			t.Fatalf("%s: key %x", line, key)
		}
		keys, seen = append(keys, key), append(seen, field[5] == "1")
	}
	return keys, seen
}

func TestSharedVectors(t *testing.T) {
	keys, seen := readVectors(t)
	single, batch := open(t, "recent memory=4K seed=7"), open(t, "recent memory=4K seed=7")
	for i, key := range keys {
		if single.Observe(key) != seen[i] {
			t.Fatalf("key %d: %x", i, key)
		}
	}
	if got := batch.ObserveMany(keys); fmt.Sprint(got) != fmt.Sprint(seen) {
		t.Fatal("the batch differs")
	}
	expected, _ := os.ReadFile(vectors + "keys.weir")
	for _, f := range []*Filter{single, batch} {
		if got, err := f.Marshal(); err != nil || !bytes.Equal(got, expected) {
			t.Fatal("the saved bytes differ", err)
		}
	}
	loaded, err := Load(vectors + "keys.weir")
	if err != nil {
		t.Fatal(err)
	}
	for i, in := range loaded.AskMany(keys) {
		if !in {
			t.Fatalf("key %d is missing", i)
		}
	}
}

// Golden files are a filter and a note with the verdicts of 100 keys.
func TestGoldenFiles(t *testing.T) {
	paths, _ := filepath.Glob("../../tests/golden/*.weir")
	var keys [][]byte
	for i := uint64(0); i < 100; i++ {
		keys = append(keys, binary.LittleEndian.AppendUint64(nil, 3<<32|(i+250)))
	}
	filters := 0
	for _, path := range paths {
		f, err := Load(path)
		var e *Error
		if err != nil && errors.As(err, &e) && e.Code == "wrong-kind" {
			continue // a sketch or a screen
		}
		if err != nil {
			t.Fatal(path, err)
		}
		file, _ := os.ReadFile(path)
		verdicts := make([]byte, 100)
		for i, seen := range f.AskMany(keys) {
			verdicts[i] = '0'
			if seen {
				verdicts[i] = '1'
			}
		}
		saved, err := f.Marshal()
		if err != nil || !bytes.Contains(file, append(verdicts, '\n')) || !bytes.Contains(file, saved) {
			t.Fatal(path, err)
		}
		filters++
	}
	if filters < 16 {
		t.Fatal(filters)
	}
}

func TestKeyTypes(t *testing.T) {
	f := open(t, "memory=64K seed=1")
	if f.ObserveInt(-42) || !f.ObserveString("-42") || !f.Ask([]byte("-42")) || f.Ask(nil) || f.Observe(nil) || !f.Observe([]byte{}) {
		t.Fatal("keys differ")
	}
}

func TestBatchesEqualSingleCalls(t *testing.T) {
	for _, n := range []int{0, 1, 511, 512, 513, 5000, part - 1, part, part + 1, 2*part + 7} {
		a, b := open(t, "rlbsbf memory=16K seed=1"), open(t, "rlbsbf memory=16K seed=1")
		var keys [][]byte
		for i := 0; i < n; i++ {
			keys = append(keys, Int(int64(i*i%1999)))
		}
		for i, seen := range a.ObserveMany(keys) {
			if b.Observe(keys[i]) != seen {
				t.Fatal(n, i)
			}
		}
	}
}

func TestSaveLoadCloneMergeForget(t *testing.T) {
	path := filepath.Join(t.TempDir(), "seen.weir")
	a := open(t, "counting memory=64K seed=1")
	a.ObserveString("a")
	if err := a.Save(path); err != nil {
		t.Fatal(err)
	}
	b, err := Load(path)
	if err != nil || !b.Ask([]byte("a")) {
		t.Fatal(err)
	}
	b.ObserveString("b")
	if err := a.Merge(b); err != nil || !a.Ask([]byte("b")) {
		t.Fatal(err)
	}
	if present, err := a.Forget([]byte("b")); err != nil || !present || a.Ask([]byte("b")) {
		t.Fatal(err, present)
	}
	if s := a.Stats(); s.Observed == 0 || s.Memory != 65536 || !strings.HasPrefix(a.Spec(), "counting ") {
		t.Fatal(s, a.Spec())
	}
	a.Clear()
	var saved bytes.Buffer
	if n, err := a.WriteTo(&saved); err != nil || n != int64(saved.Len()) {
		t.Fatal(err)
	}
	if c, err := Unmarshal(saved.Bytes()); err != nil || c.Ask([]byte("a")) {
		t.Fatal(err)
	}
}

func TestTime(t *testing.T) {
	f := open(t, "memory=64K span=10s seed=1")
	at := time.Unix(1700000000, 0)
	f.Advance(at)
	first := f.ObserveString("a")
	f.Advance(at.Add(5 * time.Second))
	second := f.ObserveString("a")
	f.Advance(at.Add(time.Minute))
	if first || !second || f.Ask([]byte("a")) {
		t.Fatal(first, second)
	}
}

func TestTTL(t *testing.T) {
	f := open(t, "memory=64K ttl=1s-100s seed=1")
	at := time.Unix(1700000000, 0)
	f.Advance(at)
	keys := [][]byte{[]byte("short"), []byte("long"), []byte("none"), []byte("expired")}
	ttls := []time.Duration{8 * time.Second, 80 * time.Second, 0, -time.Second}
	for i, seen := range f.ObserveManyTTL(keys, ttls) {
		if seen {
			t.Fatal(i)
		}
	}
	for _, want := range []struct {
		after time.Duration
		seen  [4]bool
	}{
		{5 * time.Second, [4]bool{true, true, false, false}},
		{8 * time.Second, [4]bool{false, true, false, false}},
		{59 * time.Second, [4]bool{false, true, false, false}},
		{80 * time.Second, [4]bool{}},
	} {
		f.Advance(at.Add(want.after))
		for i, key := range keys {
			if f.Ask(key) != want.seen[i] {
				t.Fatal(want.after, string(key))
			}
		}
	}
	if f.ObserveTTL(keys[0], time.Minute) || !f.ObserveTTL(keys[0], time.Second) {
		t.Fatal("a new key was seen, or a repeat was not")
	}
	defer func() {
		if recover() == nil {
			t.Fatal("fewer TTLs than keys")
		}
	}()
	f.ObserveManyTTL(keys, ttls[:1])
}

func TestErrors(t *testing.T) {
	var e *Error
	for _, err := range []error{
		func() error { _, err := Open("blom"); return err }(),
		func() error { _, err := Open("memory=12Q"); return err }(),
		func() error { _, err := Load("none.weir"); return err }(),
		func() error { _, err := Unmarshal([]byte("not a filter")); return err }(),
		func() error { _, err := Unmarshal(nil); return err }(),
		func() error { _, err := Open("memory=4K\x00junk"); return err }(),
		func() error { _, err := Load("f\x00"); return err }(),
		open(t, "memory=4K").Save("f\x00"),
		open(t, "memory=4K").Save("no/such/directory/f"),
		open(t, "bloom memory=4K seed=1").Merge(open(t, "bloom memory=4K seed=2")),
	} {
		if !errors.As(err, &e) || e.Code == "" || !strings.HasPrefix(err.Error(), "weir: ") {
			t.Fatal(err)
		}
	}
}

func TestFixedSetsPanic(t *testing.T) {
	f, err := Load("../../tests/golden/fuse.weir")
	if err != nil {
		t.Fatal(err)
	}
	f.Ask([]byte("a"))
	for _, change := range []func(){
		func() { f.Observe(nil) }, func() { f.ObserveMany(nil) }, f.Clear,
	} {
		func() {
			defer func() {
				if recover() != ErrFixed {
					t.Fatal("no panic")
				}
			}()
			change()
		}()
	}
	f.AskMany([][]byte{nil})
}

// States of the command are notes and a filter. The keys of some were changed.
func TestFilesOfTheCommand(t *testing.T) {
	tool, err := filepath.Abs("../../build/tool/weir")
	if weir := os.Getenv("WEIR"); weir != "" {
		tool, err = weir, nil
	}
	if _, missing := os.Stat(tool); err != nil || missing != nil {
		t.Skip("the command is not built")
	}
	var e *Error
	for option, code := range map[string]string{"-q": "", "--ignore-case": "mismatch"} {
		path := filepath.Join(t.TempDir(), "f")
		command := exec.Command(tool, "dedup", "-q", option, "--state", path)
		command.Stdin = strings.NewReader("a\n")
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatal(err, string(out))
		}
		data, _ := os.ReadFile(path)
		loaded, err := Load(path)
		again, same := Unmarshal(data)
		if code == "" && (err != nil || same != nil || !loaded.Ask([]byte("a")) || !again.Ask([]byte("a"))) {
			t.Fatal(err, same)
		}
		if code != "" && (!errors.As(err, &e) || e.Code != code || same == nil || same.Error() != err.Error()) {
			t.Fatal(err, same)
		}
	}
}

func ExampleFilter() {
	seen, err := Open("memory=64K seed=1")
	if err != nil {
		panic(err)
	}
	defer seen.Close()
	for _, word := range strings.Fields("to be or not to be") {
		if !seen.ObserveString(word) {
			fmt.Println(word)
		}
	}
	// Output:
	// to
	// be
	// or
	// not
}

func TestClosedFiltersPanic(t *testing.T) {
	f := open(t, "memory=4K")
	f.Close()
	f.Close()
	defer func() {
		if recover() != ErrClosed {
			t.Fatal("no panic")
		}
	}()
	f.ObserveString("a")
}

func TestGoroutinesShareAFilter(t *testing.T) {
	f := open(t, "bloom memory=1M seed=1")
	var wait sync.WaitGroup
	var mu sync.Mutex
	fresh := 0
	for g := 0; g < 8; g++ {
		wait.Add(1)
		go func() {
			defer wait.Done()
			var keys [][]byte
			for i := 0; i < 5000; i++ {
				keys = append(keys, Int(int64(i)))
			}
			n := 0
			for _, seen := range f.ObserveMany(keys) {
				if !seen {
					n++
				}
			}
			mu.Lock()
			fresh += n
			mu.Unlock()
		}()
	}
	wait.Wait()
	if fresh < 4990 || fresh > 5000 {
		t.Fatal(fresh)
	}
}

func TestFiltersAreGarbageCollected(t *testing.T) {
	for i := 0; i < 200; i++ {
		f, err := Open("memory=1M")
		if err != nil {
			t.Fatal(err)
		}
		f.ObserveInt(int64(i))
		if i%50 == 0 {
			runtime.GC()
		}
	}
}

func processorTime() time.Duration {
	var used syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// bench/bindings/go_batches compares the reported processor time with the same batches in C.
func BenchmarkObserveMany1024(b *testing.B) {
	f := open(b, "memory=64M seed=1")
	keys := make([][]byte, 1<<20)
	for i := range keys {
		keys[i] = []byte(fmt.Sprintf("%016d", i*7919))
	}
	f.ObserveMany(keys)
	began := processorTime()
	for i := 0; i < b.N; i += 1024 {
		at := i % len(keys)
		f.ObserveMany(keys[at : at+1024])
	}
	b.ReportMetric(float64(processorTime()-began)/float64(b.N), "cpu-ns/op")
}
