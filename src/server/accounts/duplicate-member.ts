/**
 * Names a member that one object of a valid JSON text has twice, else null. Parsers disagree on
 * which of the two counts, so a proxy could check one value and the server use the other.
 */
export function findDuplicateMember(json: string): string | null {
  const objects: (Set<string> | null)[] = []
  let wantsName = false
  for (let at = 0; at < json.length; at++) {
    switch (json[at]) {
      case '{':
        objects.push(new Set())
        wantsName = true
        break
      case '[':
        objects.push(null)
        wantsName = false
        break
      case '}':
      case ']':
        objects.pop()
        wantsName = false
        break
      case ',':
        wantsName = objects.at(-1) instanceof Set
        break
      case '"': {
        const end = endOfString(json, at + 1)
        if (wantsName) {
          // Two spellings of one name, "a" and "\u0061", are the same name.
          const name: string = JSON.parse(json.slice(at, end + 1))
          const seen = objects.at(-1)
          if (seen?.has(name)) return name
          seen?.add(name)
          wantsName = false
        }
        at = end
        break
      }
    }
  }
  return null
}

function endOfString(json: string, from: number): number {
  for (let at = from; at < json.length; at++) {
    if (json[at] === '\\') at++
    else if (json[at] === '"') return at
  }
  return json.length
}
