/** Arrays and objects of at most this many characters stay on one line. */
const maxChars = 72

/**
 * Indents a valid JSON text for people. Keeps strings, numbers and the order of members exactly as
 * they were written.
 */
export function prettyJson(json: string): string {
  const tokens = json.match(/"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/g) ?? []
  const ends = endsOf(tokens)
  const out: string[] = []
  let depth = 0
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at] ?? ''
    const line = () => out.push(`\n${'  '.repeat(depth)}`)
    if (token === '[' || token === '{') {
      const end = ends.get(at) ?? at
      const flat = onOneLine(tokens, at, end)
      if (flat !== null) {
        out.push(flat)
        at = end
        continue
      }
      out.push(token)
      depth++
      line()
    } else if (token === ']' || token === '}') {
      depth--
      line()
      out.push(token)
    } else if (token === ',') {
      out.push(token)
      line()
    } else out.push(token === ':' ? ': ' : token)
  }
  return out.join('')
}

/** Maps the index of each opening bracket to that of its closing one. */
function endsOf(tokens: string[]): Map<number, number> {
  const ends = new Map<number, number>()
  const open: number[] = []
  tokens.forEach((token, at) => {
    if (token === '[' || token === '{') open.push(at)
    if (token === ']' || token === '}') ends.set(open.pop() ?? at, at)
  })
  return ends
}

/** Null when it contains another array or object, or is too long. */
function onOneLine(tokens: string[], from: number, to: number): string | null {
  // Every token has at least one character.
  if (to - from > maxChars) return null
  const inner = tokens.slice(from + 1, to)
  if (inner.some(token => token === '[' || token === '{')) return null
  const text = inner.map(token => (token === ',' ? ', ' : token === ':' ? ': ' : token)).join('')
  const brace = tokens[from] === '{' && text !== ''
  const flat = brace ? `{ ${text} }` : `${tokens[from]}${text}${tokens[to]}`
  return flat.length > maxChars ? null : flat
}
