module github.com/plugport/plugport/sdk-guest/go

go 1.27.1
