package network

import "heddle/core/model"

// calendar holds a time for each of a number of things and knows the earliest.
// Setting one costs O(log n).
type calendar struct {
	at     []model.Time
	first  []int32 // tournament: of node n the thing with the earliest time below it; children 2n, 2n+1; root 1
	leaves int     // a power of two
}

func newCalendar() calendar {
	return calendar{leaves: 1, at: []model.Time{never}, first: make([]int32, 2)}
}

// grow makes room for so many things.
func (c *calendar) grow(things int) {
	if things <= c.leaves {
		return
	}
	for c.leaves < things {
		c.leaves *= 2
	}
	c.first = make([]int32, 2*c.leaves)
	for i := range c.leaves {
		if i >= len(c.at) {
			c.at = append(c.at, never)
		}
		c.first[c.leaves+i] = toInt32(i)
	}
	for n := c.leaves - 1; n > 0; n-- {
		c.update(n)
	}
}

// earliest returns the thing with the earliest time, the first of several.
func (c *calendar) earliest() (thing int, at model.Time) {
	thing = int(c.first[1])
	return thing, c.at[thing]
}

// set gives a thing its time.
func (c *calendar) set(thing int, at model.Time) {
	if c.at[thing] == at {
		return
	}
	c.at[thing] = at
	for n := (c.leaves + thing) / 2; n > 0; n /= 2 {
		was := c.first[n]
		c.update(n)
		if int(was) != thing && int(c.first[n]) != thing {
			return // it neither was nor became the earliest here
		}
	}
}

func (c *calendar) update(n int) {
	a, b := c.first[2*n], c.first[2*n+1]
	if c.at[b] < c.at[a] {
		a = b
	}
	c.first[n] = a
}
