// Package hostdouble stands in for the server in tests: the store, the settings, and who answers requests. Each client
// of plugporttest has one, so tests need not clean up. It is not part of any component.
package hostdouble

import (
	"errors"
	"net/http"
	"sync"
)

// ErrNoHost is what a plugin's code meets when it runs neither in a component nor by a client of plugporttest.
var ErrNoHost = errors.New("there is no host here; in a test, call this through a client of plugporttest, or in its Run")

// Answer answers a request to another host.
type Answer func(*http.Request) (*http.Response, error)

// Sent is a request to another host as it arrived.
type Sent struct {
	Method, URL string
	Header      http.Header
	Body        []byte
}

// Host is the server as one client's calls see it.
type Host struct {
	mutex             sync.Mutex
	values            map[string][]byte
	settings, secrets map[string]string
	answer            Answer
	sent              []Sent
	denies            bool
}

// New is a host with nothing in it, that denies all requests.
func New() *Host {
	return &Host{values: map[string][]byte{}, settings: map[string]string{}, secrets: map[string]string{}}
}

var current struct {
	mutex sync.Mutex
	host  *Host
	runs  int
	ended sync.Cond
}

func init() { current.ended.L = &current.mutex }

// Run runs a function for which this is the host. A function of another host waits until this one has ended: nothing
// tells goroutines of two hosts apart.
func (h *Host) Run(job func()) {
	current.mutex.Lock()
	for current.host != nil && current.host != h {
		current.ended.Wait()
	}
	current.host = h
	current.runs++
	current.mutex.Unlock()
	defer func() {
		current.mutex.Lock()
		defer current.mutex.Unlock()
		if current.runs--; current.runs == 0 {
			current.host = nil
			current.ended.Broadcast()
		}
	}()
	job()
}

// Current is the host of the function that runs.
func Current() (*Host, error) {
	current.mutex.Lock()
	defer current.mutex.Unlock()
	if current.host == nil {
		return nil, ErrNoHost
	}
	return current.host, nil
}

// Deny lets client requests and the store be denied.
func (h *Host) Deny() {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.denies = true
}

// Denies tells whether they are.
func (h *Host) Denies() bool {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.denies
}

// SetAnswer lets a function answer requests.
func (h *Host) SetAnswer(answer Answer) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.answer = answer
}

// Record notes a request, and returns who answers it; nil if nobody does.
func (h *Host) Record(sent Sent) Answer {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.sent = append(h.sent, sent)
	return h.answer
}

// Sent is the requests so far.
func (h *Host) Sent() []Sent {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return append([]Sent(nil), h.sent...)
}

// Answers tells whether anybody answers requests.
func (h *Host) Answers() bool {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.answer != nil
}
