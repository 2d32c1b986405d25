import type { Clock } from '../util/time.ts'
import { durationText, sizeText } from '../util/amounts.ts'

export interface ProgressFacts {
  readonly label: string
  readonly done: number
  /** Null when unknown. */
  readonly total: number | null
  readonly elapsedMs: number
  readonly columns: number
}

const maxBarChars = 30

/** One line: `shot.exr  [=======>      ]  54%  162 MB of 300 MB  81 MB/s  1 s left`. */
export function progressText(facts: ProgressFacts): string {
  const { label, done, total, elapsedMs, columns } = facts
  const rate = elapsedMs > 0 ? (done / elapsedMs) * 1000 : 0
  const speed = elapsedMs < 300 ? '' : `${sizeText(Math.round(rate))}/s`
  const left =
    total === null || rate <= 0 || elapsedMs < 1000 ? '' : leftText(((total - done) / rate) * 1000)
  const amount = total === null ? sizeText(done) : `${sizeText(done)} of ${sizeText(total)}`
  const part = total === null ? null : total === 0 ? 1 : Math.min(1, done / total)
  const percent = part === null ? '' : `${Math.floor(part * 100)}%`.padStart(4)
  const words = [percent, amount, speed, left].filter(word => word !== '').join('  ')
  const available = columns - 1 - words.length - 2
  const name = label.length > 24 ? `${label.slice(0, 23)}…` : label
  const bar = Math.min(maxBarChars, available - name.length - 4)
  if (part === null || bar < 8) return clip(`${name}  ${words}`, columns - 1)
  const filled = Math.round(part * bar)
  const line = '='.repeat(filled) + (filled < bar ? '>' : '')
  return clip(`${name}  [${line.padEnd(bar).slice(0, bar)}]  ${words}`, columns - 1)
}

/** Rounded up, so that unfinished work never shows 0 s. */
function leftText(leftMs: number): string {
  return leftMs <= 0 ? '' : `${durationText(Math.ceil(leftMs / 1000) * 1000)} left`
}

function clip(text: string, most: number): string {
  return text.length > most ? text.slice(0, Math.max(0, most)) : text
}

interface ProgressParts {
  readonly label: string
  readonly enabled: boolean
  readonly stream: { write(text: string): unknown; readonly columns?: number }
  readonly clock: Clock
}

export interface Progress {
  begin(total: number | null): void
  moved(done: number): void
  /** Clears the line. */
  end(): void
}

/** Work that ends within this time shows no line. */
const quietMs = 400
const redrawMs = 100

/** A progress line on a terminal, redrawn in place. */
export function createProgress({ label, enabled, stream, clock }: ProgressParts): Progress {
  let begunMs = clock.now()
  let drawnMs = -Infinity
  let shown = false
  let total: number | null = null
  return {
    begin(expected) {
      begunMs = clock.now()
      total = expected
    },
    moved(done) {
      const nowMs = clock.now()
      const elapsedMs = nowMs - begunMs
      if (!enabled || elapsedMs < quietMs || nowMs - drawnMs < redrawMs) return
      drawnMs = nowMs
      shown = true
      const columns = stream.columns ?? 80
      stream.write(`\r${progressText({ label, done, total, elapsedMs, columns })}\u001b[K`)
    },
    end() {
      if (shown) stream.write('\r\u001b[K')
      shown = false
    },
  }
}

/** Only a terminal that can overwrite a line shows progress. */
export function mayShowProgress(
  { json, quiet }: { json: boolean; quiet: boolean },
  { isTTY }: { isTTY?: boolean },
  env: NodeJS.ProcessEnv,
): boolean {
  return isTTY === true && !json && !quiet && env.TERM !== 'dumb'
}
