import type { Logger } from '../../src/lib/util/logger.ts'

export interface LogLine {
  readonly level: string
  readonly text: string
}

/** A log that keeps its lines, fields included. */
export function recordingLog(): Logger & { readonly lines: LogLine[] } {
  const lines: LogLine[] = []
  const write = (level: string) => (fields: object, message?: string) =>
    void lines.push({ level, text: `${message ?? ''} ${JSON.stringify(fields)}` })
  return {
    lines,
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
  }
}
