package hostdouble

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
)

// Get is the value of a key.
func (h *Host) Get(key string) ([]byte, bool) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	value, found := h.values[key]
	return bytes.Clone(value), found
}

// Set sets the value of a key.
func (h *Host) Set(key string, value []byte) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.values[key] = append([]byte{}, value...)
}

// Delete removes a key.
func (h *Host) Delete(key string) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	delete(h.values, key)
}

// Keys is all keys.
func (h *Host) Keys() []string {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return slices.Sorted(maps.Keys(h.values))
}

// Increment adds to a number; false if there is none, or no room for the sum.
func (h *Host) Increment(key string, by int64) (int64, bool) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	var before int64
	if value, found := h.values[key]; found {
		var err error
		if before, err = strconv.ParseInt(string(value), 10, 64); err != nil {
			return 0, false
		}
	}
	sum := before + by
	if (sum > before) != (by > 0) {
		return 0, by == 0
	}
	h.values[key] = strconv.AppendInt(nil, sum, 10)
	return sum, true
}

// Swap sets the value of a key, unless it is another than before.
func (h *Host) Swap(key string, before []byte, wasFound bool, value []byte) bool {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if now, found := h.values[key]; found != wasFound || !bytes.Equal(now, before) {
		return false
	}
	h.values[key] = append([]byte{}, value...)
	return true
}

// Configure makes settings and secrets.
func (h *Host) Configure(settings, secrets map[string]string) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	maps.Copy(h.settings, settings)
	maps.Copy(h.secrets, secrets)
}

// Setting is a setting or a secret.
func (h *Host) Setting(key string) (string, bool) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if value, found := h.secrets[key]; found {
		return value, true
	}
	value, found := h.settings[key]
	return value, found
}

// Settings is all settings that are no secrets.
func (h *Host) Settings() map[string]string {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return maps.Clone(h.settings)
}
