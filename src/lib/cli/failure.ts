import { type ErrorCode, ServiceError } from '../util/errors.ts'
import { hideTokens } from '../util/secret.ts'
import { isJsonObject } from '../util/json.ts'
import { wrapWords } from './format.ts'
import { exitCodeOf, exitCodes } from './exit-codes.ts'
import { asTyped } from './own-command.ts'
import { terminalWidth } from './terminal.ts'
import { jsonLine, nearest } from '../util/text.ts'

/** The exit code and the output of a failed command. Empty texts are not written. */
export interface Failure {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

/**
 * Describes any thrown value for the user. Shows only code, message and hint: other members, such
 * as request headers, may hold a secret. `commands` are the known commands.
 */
export function describeFailure(
  error: unknown,
  json: boolean,
  commands: readonly string[] = [],
): Failure {
  const { exitCode, code, hint, ...facts } = readError(error, commands)
  // A command that ended itself (help, version) has already printed its output.
  if (facts.message === undefined) return { exitCode, stdout: '', stderr: '' }
  // The message repeats misplaced arguments; one may be a token that was meant for a flag.
  const message = hideTokens(facts.message)
  if (json) {
    const body = { error: { code, message, hint } }
    return { exitCode, stdout: jsonLine(body), stderr: '' }
  }
  // The user cancelled and needs no message, only the end of the line with the question.
  if (code === 'cancelled') return { exitCode, stdout: '', stderr: '\n' }
  const said = [`error: ${message}`, ...(hint === undefined ? [] : [`hint: ${asTyped(hint)}`])]
  const width = terminalWidth(process.stderr)
  // A message may hold a table: each of its lines is wrapped alone.
  const lines = said.flatMap(text =>
    text.split('\n').flatMap(line => wrapWords(line, width, '', '  ')),
  )
  return { exitCode, stdout: '', stderr: `${lines.join('\n')}\n` }
}

interface ErrorFacts {
  exitCode: number
  code: ErrorCode
  message: string | undefined
  hint?: string
}

function readError(error: unknown, commands: readonly string[]): ErrorFacts {
  if (error instanceof ServiceError) {
    const { code, message, hint } = error
    return { exitCode: exitCodeOf[code], code, message, hint }
  }
  if (!(error instanceof Error)) {
    return { exitCode: exitCodes.failed, code: 'internal', message: String(error) }
  }
  const exit = parserExitCode(error)
  if (exit === undefined) {
    return { exitCode: exitCodes.failed, code: 'internal', message: `internal: ${error.message}` }
  }
  if ('code' in error && error.code === 'EEXIT') {
    return { exitCode: exit, code: 'internal', message: undefined }
  }
  return {
    exitCode: exit,
    code: 'usage_invalid',
    message: parserMessage(error.message, commands),
    hint: meantHint(error, commands) ?? 'add --help to see the commands and flags',
  }
}

/** Errors of the command parser carry their exit code under `oclif`. */
function parserExitCode(error: Error): number | undefined {
  if (!('oclif' in error) || typeof error.oclif !== 'object' || error.oclif === null) {
    return undefined
  }
  const exit = 'exit' in error.oclif ? error.oclif.exit : undefined
  return typeof exit === 'number' ? exit : undefined
}

/** Suggests the nearest known flag or command for a mistyped one. */
function meantHint(error: Error, commands: readonly string[]): string | undefined {
  const command = /^command (\S+) not found/.exec(error.message)?.[1]
  const flag = /^Nonexistent flags?: --([\w-]+)/.exec(error.message)?.[1]
  const meant =
    flag === undefined ? nearest(command ?? '', commands) : nearest(flag, knownFlags(error))
  if (meant === undefined) return undefined
  return `did you mean ${flag === undefined ? meant.replaceAll(':', ' ') : `--${meant}`}?`
}

/** Parser errors carry the flags of the command. */
function knownFlags(error: Error & { parse?: unknown }): string[] {
  const parse = isJsonObject(error.parse) ? error.parse : {}
  const input = isJsonObject(parse['input']) ? parse['input'] : {}
  return Object.keys(isJsonObject(input['flags']) ? input['flags'] : {})
}

/**
 * Matches unknown flags. Only their names are shown: the rest may be a secret, as in `-psecret`.
 */
const unknownFlags = /^(Nonexistent flags?: )([^]+)$/

/** Never repeats an unexpected argument: it may be a password. */
function unknownCommand(words: string, commands: readonly string[]): string {
  const isTopic = (id: string) => commands.some(other => other.startsWith(`${id}:`))
  const known = commands.find(id => words.startsWith(`${id}:`) && !isTopic(id))
  if (known === undefined) return `command ${words.replaceAll(':', ' ')} not found`
  return `unexpected argument of ${known.replaceAll(':', ' ')}`
}

function parserMessage(message: string, commands: readonly string[]): string {
  return message
    .replace(unknownFlags, (_, start: string, flags: string) => {
      const names = flags.match(/(?<=^|, )(--[\w-]+|-\w)/g) ?? []
      return start + names.join(', ')
    })
    .replaceAll('See more help with --help', '')
    .replace(/^Parsing (--\S+)\s+/, '$1: ')
    .replace(/^The following errors? occurred:\s+/, '')
    .replace(/^command (\S+) not found$/, (_, words: string) => unknownCommand(words, commands))
    .replace(/\s+/g, ' ')
    .replace(/(?<=^|: )[A-Z](?=[a-z])/, first => first.toLowerCase())
    .trim()
}
