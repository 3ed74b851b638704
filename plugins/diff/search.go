package main

// search finds the shortest edit of two stretches by Myers' greedy method: furthest[k] is how far one comes in a on the
// diagonal k with so many edits. Each round is kept to walk back on.
func (it *aligner) search(a, aEnd, b, bEnd int) {
	first, second := it.a[a:aEnd], it.b[b:bEnd]
	rounds, found := it.rounds(first, second)
	if !found {
		it.coarse = true
		it.add(run{a, b, aEnd, bEnd, false})
		return
	}
	for _, step := range walkBack(rounds, len(first), len(second)) {
		it.add(run{a + step.a, b + step.b, a + step.aEnd, b + step.bEnd, step.equal})
	}
}

// rounds holds furthest for each number of edits, from diagonal -d to d, until both ends are reached.
func (it *aligner) rounds(a, b []int) (rounds [][]int32, found bool) {
	for d := 0; d <= mostEdits; d++ {
		furthest := make([]int32, 2*d+1)
		for k := -d; k <= d; k += 2 {
			x := start(rounds, d, k)
			y := x - k
			if x > len(a) || y > len(b) || y < 0 {
				furthest[k+d] = int32(x)
				continue
			}
			from := x
			for x < len(a) && y < len(b) && a[x] == b[y] {
				x, y = x+1, y+1
			}
			furthest[k+d] = int32(x)
			it.left -= x - from + 1
			if x == len(a) && y == len(b) {
				return append(rounds, furthest), true
			}
			if it.left < 0 {
				return nil, false
			}
		}
		rounds = append(rounds, furthest)
	}
	return nil, false
}

// start is where the round d begins on the diagonal k: one step from the better neighbour of the round before.
func start(rounds [][]int32, d, k int) int {
	if d == 0 {
		return 0
	}
	before := rounds[d-1]
	down, right := -1, -1
	if k+1 <= d-1 {
		down = int(before[k+1+d-1])
	}
	if k-1 >= -(d - 1) {
		right = int(before[k-1+d-1]) + 1
	}
	return max(down, right)
}

// walkBack reads the way that led to the end, and turns it round.
func walkBack(rounds [][]int32, aEnd, bEnd int) []run {
	var back []run
	x, y := aEnd, bEnd
	for d := len(rounds) - 1; d >= 0; d-- {
		begin := start(rounds, d, x-y)
		if begin < x {
			back = append(back, run{begin, begin - (x - y), x, y, true})
		}
		x, y = begin, begin-(x-y)
		if d == 0 {
			break
		}
		if down := x - y + 1; down <= d-1 && int(rounds[d-1][down+d-1]) == x {
			back = append(back, run{x, y - 1, x, y, false})
			y--
		} else {
			back = append(back, run{x - 1, y, x, y, false})
			x--
		}
	}
	turned := make([]run, 0, len(back))
	for i := len(back) - 1; i >= 0; i-- {
		turned = append(turned, back[i])
	}
	return turned
}
