import { wrapWords } from '../../lib/cli/format.ts'
import { paint } from '../../lib/cli/output.ts'
import { counted } from '../../lib/util/amounts.ts'

/** The result of one check. */
export interface Finding {
  /** Stable; for programs. */
  readonly check: string
  readonly status: 'ok' | 'warn' | 'fail'
  /** One sentence for people. Never a secret. */
  readonly summary: string
  /** Details, one a line. */
  readonly details: readonly string[]
  /** What to do. */
  readonly hint: string | null
}

export function finding(
  check: string,
  status: Finding['status'],
  summary: string,
  hint: string | null = null,
  details: string[] = [],
): Finding {
  return { check, status, summary, details, hint }
}

const colours = { ok: 'green', warn: 'yellow', fail: 'red' } as const

/** The findings for people, each with its hint, wrapped to `width` columns. */
export function reportText(findings: Finding[], colour: boolean, width: number): string {
  const [inner, deep] = [' '.repeat(6), ' '.repeat(8)]
  const lines = findings.flatMap(({ status, summary, details, hint }) => [
    ...wrapWords(summary, width, paint(colour, colours[status], status.padEnd(6)), inner),
    ...details.flatMap(detail => wrapWords(detail, width, deep, deep)),
    ...(hint === null || status === 'ok' ? [] : wrapWords(hint, width, '      > ', deep)),
  ])
  const failed = findings.filter(({ status }) => status === 'fail').length
  const warned = findings.filter(({ status }) => status === 'warn').length
  const conclusion = `${counted(findings.length, 'check')}: ${failed} failed, ${warned} to look at.`
  return [...lines, '', conclusion].join('\n')
}
