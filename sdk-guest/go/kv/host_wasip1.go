//go:build wasip1

package kv

import (
	"unsafe"

	"github.com/plugport/plugport/sdk-guest/go"
	atomics "github.com/plugport/plugport/sdk-guest/go/internal/bindings/wasi_keyvalue_atomics"
	store "github.com/plugport/plugport/sdk-guest/go/internal/bindings/wasi_keyvalue_store"
	witRuntime "github.com/plugport/plugport/sdk-guest/go/internal/wit/runtime"
	wit "github.com/plugport/plugport/sdk-guest/go/internal/wit/types"
)

// The store that the host keeps.

type bucket struct{ host *store.Bucket }

// swap is one attempt to replace a value.
type swap struct{ host *atomics.Cas }

func openBucket() (bucket, error) {
	opened, err := answered(store.Open("default"))
	return bucket{opened}, err
}

func (b bucket) get(key string) ([]byte, bool, error) {
	value, err := answered(b.host.Get(key))
	if err != nil || value.IsNone() {
		return nil, false, err
	}
	return taken(value.Some()), true, nil
}

func (b bucket) set(key string, value []byte) error {
	_, err := answered(b.host.Set(key, value))
	return err
}

func (b bucket) delete(key string) error {
	_, err := answered(b.host.Delete(key))
	return err
}

func (b bucket) exists(key string) (bool, error) { return answered(b.host.Exists(key)) }

func (b bucket) keys() ([]string, error) {
	var all []string
	cursor := wit.None[string]()
	for {
		page, err := answered(b.host.ListKeys(cursor))
		if err != nil {
			return nil, err
		}
		all = append(all, page.Keys...)
		if cursor = page.Cursor; cursor.IsNone() {
			return all, nil
		}
	}
}

func (b bucket) increment(key string, by int64) (int64, error) {
	return answered(atomics.Increment(b.host, key, by))
}

func (b bucket) swap(key string) (*swap, error) {
	begun, err := answered(atomics.CasNew(b.host, key))
	if err != nil {
		return nil, err
	}
	return &swap{begun}, nil
}

func (s *swap) current() ([]byte, error) {
	value, err := answered(s.host.Current())
	if err != nil || value.IsNone() {
		return nil, err
	}
	if old := taken(value.Some()); old != nil {
		return old, nil
	}
	return []byte{}, nil // nil is a missing value
}

// finish writes the value. If another call wrote the key meanwhile, it returns the next attempt.
func (s *swap) finish(value []byte) (*swap, error) {
	result := atomics.Swap(s.host, value)
	if result.IsOk() {
		return nil, nil
	}
	failure := result.Err()
	if failure.Tag() == atomics.CasErrorStoreError {
		return nil, failed(failure.StoreError())
	}
	return &swap{failure.CasFailed()}, nil
}

// taken is what the host has written, which is garbage when the plugin lets go of it: a call may read much.
func taken(value []byte) []byte {
	witRuntime.Release(unsafe.Pointer(unsafe.SliceData(value)))
	return value
}

func answered[T any](result wit.Result[T, store.Error]) (value T, err error) {
	if result.IsErr() {
		return value, failed(result.Err())
	}
	return result.Ok(), nil
}

func failed(err store.Error) error {
	switch err.Tag() {
	case store.ErrorAccessDenied:
		return plugport.Errorf(plugport.Denied,
			"this server does not grant `kv` to the plugin, or only for callers with credentials")
	case store.ErrorNoSuchStore:
		return plugport.Errorf(plugport.Internal, "this server has no key-value store")
	}
	return plugport.Errorf(plugport.Internal, "the key-value store failed: %s", err.Other())
}
