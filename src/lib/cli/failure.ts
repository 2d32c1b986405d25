import { type ErrorCode, ServiceError } from '../errors.ts'
import { exitCodeOf, exitCodes } from './exit-codes.ts'

/** How a failed command ends: its exit code and what it says. Empty texts are not written. */
export interface Failure {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

/**
 * Any thrown value as what the user sees. Only code, message and hint leave the error: other
 * members (a request with its headers, say) may hold a secret.
 */
export function describeFailure(error: unknown, json: boolean): Failure {
  const { exitCode, code, message, hint } = readError(error)
  // A command that ended itself (help, version) has already said what it had to say.
  if (message === undefined) return { exitCode, stdout: '', stderr: '' }
  if (json) {
    const body = { error: { code, message, hint } }
    return { exitCode, stdout: `${JSON.stringify(body)}\n`, stderr: '' }
  }
  const lines = [`error: ${message}`, ...(hint === undefined ? [] : [`hint: ${hint}`])]
  return { exitCode, stdout: '', stderr: `${lines.join('\n')}\n` }
}

interface ErrorFacts {
  exitCode: number
  code: ErrorCode
  message: string | undefined
  hint?: string | undefined
}

function readError(error: unknown): ErrorFacts {
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
    message: parserMessage(error.message),
    hint: 'add --help to see the commands and flags',
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

function parserMessage(message: string): string {
  return message
    .replaceAll('See more help with --help', '')
    .replace(/^Parsing (--\S+)\s+/, '$1: ')
    .replace(/^command (\S+) not found$/, words => words.replaceAll(':', ' '))
    .replace(/\s+/g, ' ')
    .replace(/(?<=^|: )[A-Z](?=[a-z])/, first => first.toLowerCase())
    .trim()
}
