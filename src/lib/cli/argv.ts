import { ServiceError } from '../util/errors.ts'

/** The part of a flag definition that the reordering needs. */
interface GlobalFlag {
  readonly type: 'boolean' | 'option'
  readonly char?: string
}

/**
 * `[globals] command [rest]` → `command [globals] [rest]`: the command parser takes the first
 * word for the command. The globals go in front of the first flag, not to the end, so that a flag
 * without its value is still reported and does not take a global flag as its value.
 *
 * Throws `usage_invalid` when a global flag has no value or no command follows.
 */
export function hoistGlobalFlags(
  argv: readonly string[],
  flags: Readonly<Record<string, GlobalFlag>>,
): string[] {
  const end = endOfGlobals(argv, flags)
  if (end === 0) return [...argv]
  const globals = argv.slice(0, end)
  const rest = argv.slice(end)
  const [first] = rest
  if (first === undefined) {
    // Values stay out of the message: one of them may be a token.
    const names = globals.filter(word => word.startsWith('-')).map(word => word.split('=', 1)[0])
    throw new ServiceError('usage_invalid', `no command given after ${names.join(' ')}`, {
      hint: 'service-cli --help lists the commands',
    })
  }
  if (first.startsWith('-')) return [...rest, ...globals]
  const firstFlag = rest.findIndex(word => word.startsWith('-'))
  const at = firstFlag === -1 ? rest.length : firstFlag
  return [...rest.slice(0, at), ...globals, ...rest.slice(at)]
}

function endOfGlobals(
  argv: readonly string[],
  flags: Readonly<Record<string, GlobalFlag>>,
): number {
  const typeOf = new Map<string, GlobalFlag['type']>()
  for (const [name, flag] of Object.entries(flags)) {
    typeOf.set(`--${name}`, flag.type)
    if (flag.char !== undefined) typeOf.set(`-${flag.char}`, flag.type)
  }
  let at = 0
  for (let word = argv[at]; word !== undefined; word = argv[at]) {
    const [name = ''] = word.split('=', 1)
    const type = typeOf.get(name)
    if (type === undefined || (type === 'boolean' && word !== name)) break
    at++
    if (type === 'boolean' || word !== name) continue
    const value = argv[at]
    if (value === undefined || value.startsWith('-')) {
      throw new ServiceError('usage_invalid', `flag ${name} expects a value`, {
        hint: `write ${name}=VALUE when the value starts with a dash`,
      })
    }
    at++
  }
  return at
}
