import { isJsonObject } from '../util/json.ts'

const colours: Readonly<Record<string, string>> = {
  debug: '\x1b[2m',
  info: '\x1b[36m',
  warn: '\x1b[33m',
  error: '\x1b[31m',
}
const reset = '\x1b[0m'

/** One JSON log line as people read it: `12:30:05 warn  what happened  name=value`. */
export function formatLogLine(line: string, colour: boolean): string {
  const record = parse(line)
  if (record === null) return `${printable(line.trimEnd())}\n`
  const { level, time, msg, err, ...fields } = record
  const name = String(level)
  const label = name.padEnd(5)
  const clock = typeof time === 'string' ? `${time.slice(11, 19)} ` : ''
  const parts = [`${clock}${colour ? `${colours[name] ?? ''}${label}${reset}` : label}`]
  if (msg !== undefined) parts.push(` ${printable(String(msg))}`)
  for (const [key, value] of Object.entries(fields)) {
    parts.push(
      `  ${printable(key)}=${printable(typeof value === 'string' ? value : JSON.stringify(value))}`,
    )
  }
  const text = parts.join('')
  if (!isJsonObject(err)) return `${text}\n`
  const stack = String(err.stack ?? err.message)
    .split('\n')
    .map(printable)
  return `${text}\n${stack.map(part => `         ${part}`).join('\n')}\n`
}

/** What came from outside must not move the cursor or colour the terminal. */
export function printable(text: string): string {
  return text.replace(/[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]/g, character => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}

function parse(line: string): Record<string, unknown> | null {
  try {
    const record: unknown = JSON.parse(line)
    return isJsonObject(record) ? { ...record } : null
  } catch {
    return null
  }
}
