import type { Logger } from '../logger.ts'

/** What a command says: results on stdout, everything else on stderr. */
export interface Output {
  /** The one result: its text, or with `--json` the object as one line. */
  result(text: string, json: object): void
  /** For people who look on; not with `--json` or `--quiet`. */
  note(text: string): void
  /** What is wrong although the command goes on. */
  warn(text: string): void
}

export interface OutputParts {
  readonly json: boolean
  readonly quiet: boolean
  readonly stdout: { write(text: string): unknown }
  readonly stderr: { write(text: string): unknown }
}

export function createOutput({ json, quiet, stdout, stderr }: OutputParts): Output {
  const warned = new Set<string>()
  return {
    result(text, object) {
      stdout.write(json ? `${JSON.stringify(object)}\n` : text === '' ? '' : `${text}\n`)
    },
    note(text) {
      if (!json && !quiet) stderr.write(`${text}\n`)
    },
    warn(text) {
      if (warned.has(text)) return
      warned.add(text)
      stderr.write(`warning: ${text}\n`)
    },
  }
}

/** On the streams of this process. */
export function processOutput({ json, quiet }: Pick<OutputParts, 'json' | 'quiet'>): Output {
  return createOutput({ json, quiet, stdout: process.stdout, stderr: process.stderr })
}

/** A command has no log: what must be known is a warning, the rest is dropped. */
export function warningsTo(output: Output): Logger {
  const warn = (_fields: object, message?: string): void => {
    if (message !== undefined) output.warn(message)
  }
  return { debug: () => {}, info: () => {}, warn, error: warn }
}
