package kv

import (
	"encoding/json"

	"github.com/plugport/plugport/sdk-guest/go"
)

// GetJSON is the value of a key that holds JSON of this type, and whether there is one. Anything else is an error.
func GetJSON[T any](store *Store, key string) (value T, found bool, err error) {
	text, found, err := store.Get(key)
	if err != nil || !found {
		return value, false, err
	}
	if value, err = read[T](key, text); err != nil {
		return value, false, err
	}
	return value, true, nil
}

// SetJSON sets the value of a key to JSON.
func SetJSON(store *Store, key string, value any) error {
	text, err := written(key, value)
	if err != nil {
		return err
	}
	return store.Set(key, text)
}

// UpdateJSON is [Store.Update] for JSON of this type. A missing value is the zero value.
func UpdateJSON[T any](store *Store, key string, change func(old T) (T, error)) (T, error) {
	var latest T
	_, err := store.Update(key, func(text []byte) ([]byte, error) {
		var old T
		var err error
		if text != nil {
			if old, err = read[T](key, text); err != nil {
				return nil, err
			}
		}
		if latest, err = change(old); err != nil {
			return nil, err
		}
		return written(key, latest)
	})
	return latest, err
}

func read[T any](key string, text []byte) (value T, err error) {
	if err = json.Unmarshal(text, &value); err != nil {
		err = plugport.Errorf(plugport.Internal, "what is stored under `%s` cannot be read: %s", key, err)
	}
	return value, err
}

func written(key string, value any) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil {
		err = plugport.Errorf(plugport.Internal, "the value for `%s` cannot be written as JSON: %s", key, err)
	}
	return text, err
}
