// Package plugporthttp lets net/http send requests. Importing it is enough; http.Get, clients with a timeout, and
// libraries over http.DefaultTransport then work:
//
//	import (
//		"net/http"
//
//		_ "github.com/plugport/plugport/sdk-guest/go/plugporthttp"
//	)
//
// A client with a transport of its own uses [Transport]. The server sends a request only if its operator granted it;
// otherwise the error is a [DeniedError]. Several goroutines may send requests at once. In tests, AnswersHTTP of a
// client of plugporttest answers requests.
package plugporthttp
