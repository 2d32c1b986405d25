import { systemTimer } from '../../../src/lib/util/time.ts'
import { createWindowBackends } from '../../../src/server/capture/window-backends.ts'

/**
 * Prints one picture by the native way, as JSON. A program of its own: node-screenshots stays with
 * the first display that a process shows it.
 */
const [pid, maxBytes] = process.argv.slice(2).map(Number)
const { native } = createWindowBackends({ env: process.env, timer: systemTimer })
const form = { maxWidth: 8192, maxBytes: maxBytes ?? 0, signal: AbortSignal.timeout(60_000) }
const made = await native.capture({ pid: pid ?? 0, title: null }, form)
await native.close?.()
const shown = made.ok ? { ...made.value, png: made.value.png.toString('base64') } : made
process.stdout.write(JSON.stringify(shown))
