package main

// Two sequences are aligned as a person would: lines that are there once in both are anchors, and between them the
// shortest edit is looked for. Anchors alone make hostile inputs cheap that the search alone would not survive, and the
// search has a budget for what is left.

import "slices"

const (
	// budget is how many comparisons all searches of one alignment may cost together.
	budget = 5_000_000
	// mostEdits bounds one search, whose memory grows with the square of its edits.
	mostEdits = 1000
	// deepest is how often anchors are looked for between anchors.
	deepest = 16
)

// run is a stretch of both sequences: equal, or what replaces what. Ends are exclusive.
type run struct {
	a, b, aEnd, bEnd int
	equal            bool
}

type aligner struct {
	a, b   []int
	left   int
	runs   []run
	coarse bool
}

// align compares two sequences of any comparable parts. Coarse says that the budget was spent.
func align[T comparable](before, after []T) (runs []run, coarse bool) {
	ids := map[T]int{}
	number := func(parts []T) []int {
		numbers := make([]int, len(parts))
		for i, part := range parts {
			id, known := ids[part]
			if !known {
				id = len(ids)
				ids[part] = id
			}
			numbers[i] = id
		}
		return numbers
	}
	it := &aligner{a: number(before), b: number(after), left: budget}
	it.between(0, len(it.a), 0, len(it.b), 0)
	return it.runs, it.coarse
}

// add appends a stretch, as one with the last when they are of a kind.
func (it *aligner) add(next run) {
	if next.a == next.aEnd && next.b == next.bEnd {
		return
	}
	if last := len(it.runs) - 1; last >= 0 && it.runs[last].equal == next.equal {
		it.runs[last].aEnd, it.runs[last].bEnd = next.aEnd, next.bEnd
		return
	}
	it.runs = append(it.runs, next)
}

func (it *aligner) between(a, aEnd, b, bEnd, depth int) {
	start := [2]int{a, b}
	for a < aEnd && b < bEnd && it.a[a] == it.b[b] {
		a, b = a+1, b+1
	}
	it.add(run{start[0], start[1], a, b, true})
	end := [2]int{aEnd, bEnd}
	for a < aEnd && b < bEnd && it.a[aEnd-1] == it.b[bEnd-1] {
		aEnd, bEnd = aEnd-1, bEnd-1
	}
	it.middle(a, aEnd, b, bEnd, depth)
	it.add(run{aEnd, bEnd, end[0], end[1], true})
}

func (it *aligner) middle(a, aEnd, b, bEnd, depth int) {
	if a == aEnd || b == bEnd {
		it.add(run{a, b, aEnd, bEnd, false})
		return
	}
	var anchors [][2]int
	if depth < deepest {
		anchors = it.anchors(a, aEnd, b, bEnd)
	}
	if len(anchors) == 0 {
		it.search(a, aEnd, b, bEnd)
		return
	}
	for _, anchor := range anchors {
		it.between(a, anchor[0], b, anchor[1], depth+1)
		it.add(run{anchor[0], anchor[1], anchor[0] + 1, anchor[1] + 1, true})
		a, b = anchor[0]+1, anchor[1]+1
	}
	it.between(a, aEnd, b, bEnd, depth+1)
}

// anchors are the parts that are there once in both stretches: as many as stand in the same order.
func (it *aligner) anchors(a, aEnd, b, bEnd int) [][2]int {
	type seen struct{ inA, inB, at int }
	counts := map[int]*seen{}
	for _, id := range it.a[a:aEnd] {
		if counts[id] == nil {
			counts[id] = &seen{}
		}
		counts[id].inA++
	}
	for at := b; at < bEnd; at++ {
		if count := counts[it.b[at]]; count != nil {
			count.inB, count.at = count.inB+1, at
		}
	}
	var pairs [][2]int
	for at := a; at < aEnd; at++ {
		if count := counts[it.a[at]]; count.inA == 1 && count.inB == 1 {
			pairs = append(pairs, [2]int{at, count.at})
		}
	}
	return rising(pairs)
}

// rising is the longest choice of pairs whose second numbers grow, as the first ones do.
func rising(pairs [][2]int) [][2]int {
	var tops, before []int
	before = make([]int, len(pairs))
	for i, pair := range pairs {
		pile, _ := slices.BinarySearchFunc(tops, pair[1], func(top, second int) int { return pairs[top][1] - second })
		before[i] = -1
		if pile > 0 {
			before[i] = tops[pile-1]
		}
		if pile == len(tops) {
			tops = append(tops, i)
		} else {
			tops[pile] = i
		}
	}
	chosen := make([][2]int, len(tops))
	for at, i := len(tops)-1, last(tops); at >= 0; at, i = at-1, before[i] {
		chosen[at] = pairs[i]
	}
	return chosen
}

func last(tops []int) int {
	if len(tops) == 0 {
		return -1
	}
	return tops[len(tops)-1]
}
