package kv_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/plugport/plugport/sdk-guest/go"
	"github.com/plugport/plugport/sdk-guest/go/kv"
	"github.com/plugport/plugport/sdk-guest/go/plugporttest"
)

func says(t *testing.T, err error, words string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), words) || plugport.KindOf(err) != plugport.Internal {
		t.Errorf("%q is not in: %v", words, err)
	}
}

func TestValuesAreKeptAndRemoved(t *testing.T) {
	client := plugporttest.New()
	client.Run(func() {
		store, err := kv.Open()
		if err != nil {
			t.Fatal(err)
		}
		if errors.Join(store.Set("a", []byte{0xff}), store.SetText("t", "ü"), kv.SetJSON(store, "j", []int{1, 2})) != nil {
			t.Error("not set")
		}
	})
	store := client.Store()
	value, found, _ := store.Get("a")
	text, _, _ := store.GetText("t")
	numbers, _, _ := kv.GetJSON[[]int](store, "j")
	if !found || string(value) != "\xff" || text != "ü" || len(numbers) != 2 {
		t.Error(found, value, text, numbers)
	}
	if keys, _ := store.Keys(); strings.Join(keys, " ") != "a j t" {
		t.Error(keys)
	}
	if errors.Join(store.Delete("a"), store.Delete("a")) != nil {
		t.Error("not removed")
	}
	exists, _ := store.Exists("a")
	_, found, err := kv.GetJSON[int](store, "a")
	if exists || found || err != nil {
		t.Error(exists, found, err)
	}
	if keys, _ := plugporttest.New().Store().Keys(); len(keys) != 0 {
		t.Error(keys)
	}
}

func TestAValueOfAnotherKindIsAnErrorAndStays(t *testing.T) {
	store := plugporttest.New().Store()
	store.Set("a", []byte{0xff})
	_, _, err := store.GetText("a")
	says(t, err, "what is stored under `a` is not text")
	_, _, err = kv.GetJSON[int](store, "a")
	says(t, err, "what is stored under `a` cannot be read")
	_, err = store.Increment("a", 1)
	says(t, err, "`a` is no number, or has no room for the sum")
	says(t, kv.SetJSON(store, "a", func() {}), "the value for `a` cannot be written as JSON")
	_, err = kv.UpdateJSON(store, "a", func(old int) (int, error) { return old + 1, nil })
	says(t, err, "cannot be read")
	if value, _, _ := store.Get("a"); string(value) != "\xff" {
		t.Error(value)
	}
}

func TestNumbersAreAdded(t *testing.T) {
	store := plugporttest.New().Store()
	for _, sum := range []int64{5, 10} {
		if got, err := store.Increment("n", 5); got != sum || err != nil {
			t.Error(got, err)
		}
	}
	if got, err := store.Increment("n", -12); got != -2 || err != nil {
		t.Error(got, err)
	}
	store.SetText("n", "9223372036854775807")
	_, err := store.Increment("n", 1)
	says(t, err, "no room for the sum")
	if got, err := store.Increment("n", 0); got != 9223372036854775807 || err != nil {
		t.Error(got, err)
	}
}

func TestAnUpdateIsMadeAgainOnWhatAnotherWroteMeanwhile(t *testing.T) {
	store := plugporttest.New().Store()
	disturbed := false
	sum, err := kv.UpdateJSON(store, "n", func(old int) (int, error) {
		if !disturbed {
			disturbed = true
			store.SetText("n", "10")
		}
		return old + 1, nil
	})
	if sum != 11 || err != nil {
		t.Error(sum, err)
	}
	n := 0
	_, err = store.Update("n", func([]byte) ([]byte, error) {
		n++
		store.SetText("n", strconv.Itoa(n))
		return []byte("mine"), nil
	})
	says(t, err, "`n` could not be updated, since others kept writing it")
	stop := errors.New("stop")
	if _, err = store.Update("n", func([]byte) ([]byte, error) { return nil, stop }); n != 100 || err != stop {
		t.Error(n, err)
	}
}

func TestAnUpdateToNilIsAnError(t *testing.T) {
	store := plugporttest.New().Store()
	same := func(old []byte) ([]byte, error) { return old, nil }
	_, err := store.Update("a", same)
	says(t, err, "the update of `a` returned nil; call Delete to remove a key")
	if exists, _ := store.Exists("a"); exists {
		t.Error("it was made")
	}
	store.SetText("a", "kept")
	_, err = store.Update("a", func([]byte) ([]byte, error) { return nil, nil })
	says(t, err, "returned nil")
	if text, _, _ := store.GetText("a"); text != "kept" {
		t.Error(text)
	}
	for _, empty := range []func([]byte) ([]byte, error){func([]byte) ([]byte, error) { return []byte{}, nil }, same} {
		if value, err := store.Update("a", empty); value == nil || len(value) != 0 || err != nil {
			t.Error(value, err)
		}
	}
}

func TestThereIsNoStoreWithoutAHost(t *testing.T) {
	_, err := kv.Open()
	says(t, err, "there is no host here")
}
