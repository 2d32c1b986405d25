/** The known word closest to a mistyped one; undefined when none is close. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const wanted = word.toLowerCase()
  let best: string | undefined
  let bestDistance = Math.max(2, Math.floor(word.length / 3)) + 1
  for (const candidate of known) {
    const distance = editDistance(wanted, candidate.toLowerCase())
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance]
  }
  return best
}

function editDistance(left: string, right: string): number {
  let previous = Array.from({ length: right.length + 1 }, (_, column) => column)
  for (let row = 1; row <= left.length; row++) {
    const current = [row]
    for (let column = 1; column <= right.length; column++) {
      const replaced = at(previous, column - 1) + (left[row - 1] === right[column - 1] ? 0 : 1)
      current.push(Math.min(replaced, at(previous, column) + 1, at(current, column - 1) + 1))
    }
    previous = current
  }
  return at(previous, right.length)
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Infinity
}
