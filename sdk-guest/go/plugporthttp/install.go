package plugporthttp

import (
	"context"
	"net"
	"net/http"
)

// A component has no sockets, so the default transport gives all requests to the server. It stays an *http.Transport:
// many libraries rely on that, and clone it.
func init() {
	shared, is := http.DefaultTransport.(*http.Transport)
	if !is {
		http.DefaultTransport = Transport{}
		return
	}
	shared.Protocols = new(http.Protocols)
	shared.Protocols.SetHTTP1(true)
	shared.DialContext = noSockets
	shared.RegisterProtocol("http", Transport{})
	shared.RegisterProtocol("https", Transport{})
}

// noSockets is what clones of the default transport meet: they have its settings, but not the registered protocols.
func noSockets(context.Context, string, string) (net.Conn, error) {
	return nil, &Error{Kind: Invalid, reason: "a plugin has no sockets; give the http.Client plugporthttp.Transport{}"}
}
