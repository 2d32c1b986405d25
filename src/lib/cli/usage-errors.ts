import type { Command, Hook } from '@oclif/core'
import { ServiceError, usage } from '../util/errors.ts'
import { nearest } from '../util/text.ts'

/** oclif runs this for words that name no command. */
export const commandNotFound: Hook.CommandNotFound = async ({ id, config }) => {
  const { commandIDs } = config
  const isTopic = (name: string): boolean => commandIDs.some(other => other.startsWith(`${name}:`))
  const known = commandIDs.find(name => id.startsWith(`${name}:`) && !isTopic(name))
  if (known !== undefined) throw unexpectedArgument(known)
  const meant = nearest(id, commandIDs)
  throw usage(
    `command ${spaced(id)} not found`,
    meant === undefined ? 'service-cli --help lists all' : `did you mean ${spaced(meant)}?`,
  )
}

/**
 * Turns oclif's error about the arguments into one line. An argument that is in the wrong place is
 * not repeated: it may be a password.
 */
export function usageError(error: any, { id, examples, ...command }: Command.Class): Error {
  const kind: unknown = error?.constructor?.name
  const name = spaced(id)
  const help = `service-cli ${name} --help shows all flags`
  if (kind === 'UnexpectedArgsError') return unexpectedArgument(id, Object.keys(command.args ?? {}))
  if (kind === 'RequiredArgsError') {
    const missing = error.args.map((arg: Command.Arg.Any) => arg.name.toUpperCase()).join(' and ')
    const [example = ''] = examples
    const line = typeof example === 'string' ? example : example.command
    const hint = `for example: ${line.replace(/^<%.*?%>/, 'service-cli')}`
    return usage(`${name} needs ${missing}`, hint)
  }
  if (kind === 'NonExistentFlagsError') {
    // Only the name: the rest may be a secret, as in -psecret.
    const [flag = '-'] = /^(?:--[\w-]+|-\w)/.exec(error.flags[0]) ?? []
    const known = Object.keys({ ...command.baseFlags, ...command.flags })
    const meant = flag.startsWith('--') ? nearest(flag.slice(2), known) : undefined
    const hint = meant === undefined ? help : `did you mean --${meant}?`
    return usage(`nonexistent flag ${flag}`, hint)
  }
  if (error instanceof ServiceError || error?.oclif === undefined) return error
  const line = String(error.message)
    .replace(/^Parsing (--\S+)\s+/, '$1: ')
    .replace(/^The following errors? occurred:\s+/, '')
    .replaceAll('See more help with --help', '')
    .replace(/^All of the following must be provided when using (--\S+):/, '$1 needs')
    .replace(/(?<=^|: )[A-Z](?=[a-z])/, first => first.toLowerCase())
    .replace(/\s+/g, ' ')
  return usage(line.trim(), help)
}

function unexpectedArgument(id: string, known: readonly string[] = []): ServiceError {
  const name = spaced(id)
  const hint =
    known.length === 1
      ? `it takes one ${known[0]!.toUpperCase()} at a time, in quotes if that has spaces`
      : `service-cli ${name} --help shows its arguments`
  return usage(`unexpected argument of ${name}`, hint)
}

function spaced(id: string): string {
  return id.replaceAll(':', ' ')
}
