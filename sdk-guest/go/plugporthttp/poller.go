package plugporthttp

import (
	"runtime"
	"slices"
	"sync"
	"time"
)

// A component has one thread, and a call of the host stops all goroutines. So no goroutine waits in the host for its
// own response: it waits for the poller, which lets the others run, and then asks the host for the news of all requests
// at once, for a moment. The moment grows while nothing happens; timers and goroutines that wait for one run between.

const (
	minMoment = time.Millisecond
	maxMoment = 16 * time.Millisecond
)

// host is what the goroutines share. Its lock is held in every call of the host.
var host struct {
	sync.Mutex
	// open are the exchanges that have not ended.
	open []*exchange
	// waiting is how many goroutines wait for news.
	waiting int
	polling bool
}

// await waits for news. The lock is held before and after.
func (x *exchange) await() {
	news := x.news
	host.waiting++
	if !host.polling {
		host.polling = true
		go poll()
	}
	host.Unlock()
	<-news
	host.Lock()
	host.waiting--
}

// poll goes on while any goroutine waits.
func poll() {
	moment := minMoment
	for {
		runtime.Gosched()
		found, more := pollOnce(moment)
		if !more {
			return
		}
		moment = min(2*moment, maxMoment)
		if found {
			moment = minMoment
		}
	}
}

// pollOnce takes the news of all requests, and says whether there were any, and whether anybody waits.
func pollOnce(moment time.Duration) (found, more bool) {
	host.Lock()
	defer host.Unlock()
	if host.waiting == 0 {
		host.polling = false
		return false, false
	}
	var exchanges []*exchange
	var requests []*sent
	ahead := aheadNow()
	for _, x := range host.open {
		if x.head == nil || x.size < ahead {
			exchanges, requests = append(exchanges, x), append(requests, x.sent)
		}
		if deadline, has := x.context.Deadline(); has {
			moment = min(moment, max(time.Until(deadline), 0))
		}
	}
	if len(requests) == 0 {
		return false, true // who waits has news already
	}
	news := wait(requests, moment)
	for _, position := range news {
		exchanges[position].advance()
	}
	return len(news) > 0, true
}

// aheadNow is how much of each body to read ahead.
func aheadNow() int {
	if slices.ContainsFunc(host.open, func(x *exchange) bool { return x.head == nil }) {
		return readAheadForHead
	}
	return readAhead
}
