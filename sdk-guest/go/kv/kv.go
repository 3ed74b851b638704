// Package kv is the plugin's key-value store, its only memory between calls: each call has a fresh instance. No other
// plugin sees it. The server's operator grants it with `kv`, and may give each caller a store of its own; then the
// functions that list items find nothing in it.
//
//	store, err := kv.Open()
//	if err != nil {
//		return "", err
//	}
//	visits, err := store.Increment("visits", 1)
//
// Errors are a [plugport.Error]: of the kind Denied without the grant, and otherwise Internal, for instance when the
// quota of the store is used up. In tests each client of plugporttest has a store of its own, which is empty at first.
package kv

import (
	"strings"
	"unicode/utf8"

	"github.com/plugport/plugport/sdk-guest/go"
)

// attempts is how often an update is tried when other calls write the same key.
const attempts = 100

// Store is the plugin's store: values by key.
type Store struct {
	bucket bucket
}

// Open opens the store. The error is of the kind Denied without the grant, and if the grant is for callers with
// credentials and this one has none.
func Open() (*Store, error) {
	opened, err := openBucket()
	if err != nil {
		return nil, err
	}
	return &Store{opened}, nil
}

// Get is the value of a key, and whether there is one.
func (s *Store) Get(key string) (value []byte, found bool, err error) {
	return s.bucket.get(named(key))
}

// GetText is the value of a key that is text. Anything else is an error.
func (s *Store) GetText(key string) (text string, found bool, err error) {
	value, found, err := s.Get(key)
	if err == nil && !utf8.Valid(value) {
		err = plugport.Errorf(plugport.Internal, "what is stored under `%s` is not text", key)
	}
	if err != nil {
		return "", false, err
	}
	return string(value), found, nil
}

// Set sets the value of a key.
func (s *Store) Set(key string, value []byte) error { return s.bucket.set(named(key), value) }

// SetText sets the value of a key to text.
func (s *Store) SetText(key, text string) error { return s.Set(key, []byte(text)) }

// Delete removes a key, if it is there.
func (s *Store) Delete(key string) error { return s.bucket.delete(named(key)) }

// Exists tells whether a key has a value.
func (s *Store) Exists(key string) (bool, error) { return s.bucket.exists(named(key)) }

// Keys is all keys, in no fixed order.
func (s *Store) Keys() ([]string, error) { return s.bucket.keys() }

// Increment adds to a number and returns the sum. A missing number counts as 0. No addition is lost, however many calls
// add at once.
func (s *Store) Increment(key string, by int64) (int64, error) {
	return s.bucket.increment(named(key), by)
}

// Update replaces a value by what change makes of it, and returns the new value. A missing value is nil.
//
// If another call writes the key meanwhile, change is called again with what that has written, so it should do nothing
// else. The key stays as it is when change returns an error. An update does not delete: nil is an error, which says so,
// and []byte{} an empty value.
func (s *Store) Update(key string, change func(old []byte) ([]byte, error)) ([]byte, error) {
	next, err := s.bucket.swap(named(key))
	for attempt := 0; attempt < attempts && err == nil; attempt++ {
		var old, value []byte
		if old, err = next.current(); err != nil {
			break
		}
		if value, err = change(old); err != nil {
			break
		}
		if value == nil {
			err = plugport.Errorf(plugport.Internal, "the update of `%s` returned nil; call Delete to remove a key", key)
			break
		}
		again, failed := next.finish(value)
		if failed == nil && again == nil {
			return value, nil
		}
		next, err = again, failed
	}
	if err != nil {
		return nil, err
	}
	return nil, plugport.Errorf(plugport.Internal, "`%s` could not be updated, since others kept writing it", key)
}

// named is a key as the interface takes it, which is text.
func named(key string) string { return strings.ToValidUTF8(key, "\uFFFD") }
