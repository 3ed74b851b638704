package plugporthttp

import (
	"context"
	"io"
	"net/http"
	"runtime"
	"slices"
	"time"
)

// How much of a body is read before anybody wants it, bytes. An unread body keeps the permit of its request, and the
// server has few. So more is read while a request waits for its response: it may be waiting for a permit.
const (
	readAhead        = 64 << 10
	readAheadForHead = 1 << 20
)

// readAheadTimeout is how long an upload waits until that much is read ahead.
const readAheadTimeout = time.Second

// incoming is how a response begins.
type incoming struct {
	status int
	header [][2]string
}

// exchange is a request that is being sent, then its response. Its fields belong to who holds the lock of host.
type exchange struct {
	sent *sent // nil when it has ended
	head *incoming
	// pieces are those of the response's body that were read and are not taken yet.
	pieces [][]byte
	size   int
	// err is why it has ended; io.EOF at the end of the body.
	err error
	// upload is the request's body, if that is sent in pieces.
	upload io.ReadCloser
	// news is closed when something has changed.
	news chan struct{}
	// context ends it, until forget is called.
	context context.Context
	forget  func() bool
}

// begin begins to send a request.
func begin(ctx context.Context, sending outgoing, upload io.ReadCloser) (*exchange, error) {
	x := &exchange{context: ctx, news: make(chan struct{})}
	if sending.isPieces {
		x.upload = upload
	}
	err := context.Cause(ctx)
	if err == nil {
		host.Lock()
		defer host.Unlock()
		x.sent, err = send(sending)
	}
	if err != nil {
		if x.upload != nil {
			upload.Close()
		}
		return nil, err
	}
	host.open = append(host.open, x)
	x.forget = context.AfterFunc(ctx, func() {
		host.Lock()
		defer host.Unlock()
		x.end(context.Cause(ctx))
	})
	if x.upload != nil {
		go x.write()
	}
	return x, nil
}

// awaitHead waits until the response has begun.
func (x *exchange) awaitHead() (incoming, error) {
	host.Lock()
	defer host.Unlock()
	for x.head == nil && x.err == nil {
		x.await()
	}
	if x.head == nil {
		return incoming{}, x.err
	}
	return *x.head, nil
}

// advance takes what the server has.
func (x *exchange) advance() {
	if x.head == nil {
		head, err := x.sent.response()
		if err != nil {
			x.end(err)
			return
		}
		x.head = &head
		x.announce()
		return
	}
	switch piece, err := x.sent.read(); {
	case err != nil:
		x.end(err)
	case len(piece) == 0:
		x.end(io.EOF)
	default:
		x.pieces, x.size = append(x.pieces, piece), x.size+len(piece)
		x.announce()
	}
}

// end ends it, which cancels what is not done.
func (x *exchange) end(err error) {
	if x.err != nil {
		return
	}
	x.err = err
	x.sent.drop()
	x.sent = nil
	x.forget()
	host.open = slices.DeleteFunc(host.open, func(other *exchange) bool { return other == x })
	if x.upload != nil {
		go x.upload.Close() // it may be waiting to be read
	}
	x.announce()
}

func (x *exchange) announce() {
	close(x.news)
	x.news = make(chan struct{})
}

// write sends the request's body, until it ends or the server takes no more; then the response says why.
func (x *exchange) write() {
	defer x.upload.Close()
	buffer := make([]byte, maxPiece)
	for pieces := 0; ; {
		read, err := x.upload.Read(buffer)
		if read > 0 {
			if pieces++; pieces == 2 {
				x.awaitOthers()
			}
		}
		if !x.writePiece(buffer[:read], err) {
			return
		}
		runtime.Gosched() // a body that is at hand would keep the others from running
	}
}

// awaitOthers waits until the bodies of other responses have ended or are read ahead, but not for long: some end late.
// With the second piece of a body the server waits for a permit, and nothing is read ahead meanwhile.
func (x *exchange) awaitOthers() {
	for end := time.Now().Add(readAheadTimeout); x.othersAreBehind() && time.Now().Before(end); {
		time.Sleep(minMoment)
	}
}

// othersAreBehind tells whether bodies may have permits that they would give back if they were read ahead.
func (x *exchange) othersAreBehind() bool {
	host.Lock()
	defer host.Unlock()
	return x.sent != nil && x.head == nil && slices.ContainsFunc(host.open, func(other *exchange) bool {
		return other.head != nil && other.size < readAheadForHead
	})
}

// writePiece sends a piece, and says whether more may follow.
func (x *exchange) writePiece(piece []byte, err error) bool {
	host.Lock()
	defer host.Unlock()
	if x.sent == nil {
		return false
	}
	if len(piece) > 0 {
		takes, failure := x.sent.write(piece)
		if failure != nil {
			x.end(failure)
		}
		if failure != nil || !takes {
			return false
		}
	}
	switch {
	case err == io.EOF:
		x.sent.finish()
	case err != nil:
		x.end(err)
	}
	return err == nil
}

// body is the body of a response.
type body exchange

func (b *body) Read(into []byte) (int, error) {
	host.Lock()
	defer host.Unlock()
	x := (*exchange)(b)
	for len(x.pieces) == 0 && x.err == nil && len(into) > 0 {
		x.await()
	}
	if len(x.pieces) == 0 || len(into) == 0 {
		return 0, x.err
	}
	read := copy(into, x.pieces[0])
	x.size -= read
	if x.pieces[0] = x.pieces[0][read:]; len(x.pieces[0]) == 0 {
		x.pieces[0] = nil
		x.pieces = x.pieces[1:]
	}
	return read, nil
}

func (b *body) Close() error {
	host.Lock()
	defer host.Unlock()
	x := (*exchange)(b)
	x.end(http.ErrBodyReadAfterClose)
	x.pieces, x.err = nil, http.ErrBodyReadAfterClose
	return nil
}
