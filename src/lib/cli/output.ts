import { styleText } from 'node:util'
import { errnoOf, isDiskFull, messageOf, ServiceError, usage } from '../util/errors.ts'
import { hideTokens } from '../util/secret.ts'
import { cleanLines, jsonLine } from '../util/text.ts'
import type { Logger } from '../util/logger.ts'

export type Output = ReturnType<typeof processOutput>

/** The output of a command: results on stdout, everything else on stderr. */
export function processOutput({ json, quiet }: { json: boolean; quiet: boolean }) {
  const { stderr } = process
  const warned = new Set<string>()
  return {
    /**
     * Prints the result: its text, or with `--json` the object as one line. Rejects when stdout
     * cannot be written.
     */
    async result(text: string, object: object): Promise<void> {
      if (json) await writeStdout(jsonLine(object))
      else if (text !== '') await writeStdout(`${text}\n`)
    },
    /** Prints a remark for the user; silent with `--json` or `--quiet`. */
    note(text: string): void {
      if (!json && !quiet) stderr.write(`${text}\n`)
    },
    /** Prints a warning once; the command goes on. */
    warn(text: string): void {
      if (!warned.has(text)) stderr.write(`warning: ${text}\n`)
      warned.add(text)
    },
  }
}

/** A logger for commands, which have no log: prints warnings and errors, drops the rest. */
export function warningsTo(output: Output): Logger {
  const warn = (_fields: object, message = ''): void => output.warn(message)
  return { debug: () => {}, info: () => {}, warn, error: warn }
}

/**
 * Settles when all bytes are written. Throws `storage_failed` or `storage_full` when stdout cannot
 * be written. A closed pipe is not a failure.
 */
export async function writeStdout(content: string | Uint8Array): Promise<void> {
  const error = await new Promise<unknown>(resolve => {
    process.stdout.write(content, resolve)
  })
  if (error && !isClosedPipe(error)) throw cannotWriteStdout(error)
}

/** The error of every command whose output cannot be written. */
export function cannotWriteStdout(cause: unknown): ServiceError {
  const message = `cannot write to stdout (${errnoOf(cause) ?? 'unknown error'})`
  return new ServiceError(isDiskFull(cause) ? 'storage_full' : 'storage_failed', message, { cause })
}

export function isClosedPipe(error: unknown): boolean {
  return ['EPIPE', 'EOF', 'ERR_STREAM_DESTROYED'].includes(
    String((error as NodeJS.ErrnoException).code),
  )
}

/**
 * What a user is told of any thrown value, as text for stderr or one line of JSON for stdout: only
 * code, message and hint, because other members, such as request headers, may hold a secret.
 */
export function failureText(thrown: unknown, json: boolean): string {
  const { code, message: text, hint } = toServiceError(thrown)
  const message = cleanLines(hideTokens(text))
  if (json) return jsonLine({ error: { code, message, hint: hint ?? null } })
  // After Ctrl-C only the line of the question is to be ended.
  if (code === 'cancelled') return '\n'
  return `error: ${message}\n${hint === undefined ? '' : `hint: ${hint}\n`}`
}

function toServiceError(thrown: unknown): ServiceError {
  if (thrown instanceof ServiceError) return thrown
  // Of the parser.
  if (thrown instanceof Error && 'oclif' in thrown) return usage(thrown.message)
  return new ServiceError('internal', `internal: ${messageOf(thrown)}`)
}

/** Whether the stream is a terminal with colours; NO_COLOR and TERM=dumb switch them off. */
export function hasColour(stream: { hasColors?(): boolean }): boolean {
  return stream.hasColors?.() === true
}

/** Columns of the terminal; unlimited when the stream is not a terminal. */
export function terminalWidth(stream: { isTTY?: boolean; columns?: number }): number {
  return stream.isTTY === true && stream.columns ? stream.columns : Infinity
}

export type Style = 'none' | 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'

/** The text in a style, or unchanged without `colour`, which `hasColour` decides. */
export function paint(colour: boolean, style: Style, text: string): string {
  return colour ? styleText(style, text, { validateStream: false }) : text
}
