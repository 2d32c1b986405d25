/** Arrays and objects that fit stay on one line. */
const widest = 72

/**
 * A JSON text, known to be valid, with line ends and indentation for people. Strings, numbers and
 * the order of members stay exactly as they were written.
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

/** For each opening bracket the place of the closing one. */
function endsOf(tokens: readonly string[]): Map<number, number> {
  const ends = new Map<number, number>()
  const open: number[] = []
  tokens.forEach((token, at) => {
    if (token === '[' || token === '{') open.push(at)
    if (token === ']' || token === '}') ends.set(open.pop() ?? at, at)
  })
  return ends
}

/** Null when it holds another array or object of its own, or is too long. */
function onOneLine(tokens: readonly string[], from: number, to: number): string | null {
  // Every element is a token and a comma: more than that cannot fit.
  if (to - from > widest) return null
  const inner = tokens.slice(from + 1, to)
  if (inner.some(token => token === '[' || token === '{')) return null
  const text = inner.map(token => (token === ',' ? ', ' : token === ':' ? ': ' : token)).join('')
  const brace = tokens[from] === '{' && text !== ''
  const flat = brace ? `{ ${text} }` : `${tokens[from]}${text}${tokens[to]}`
  return flat.length > widest ? null : flat
}
