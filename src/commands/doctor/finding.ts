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

export function anyFailed(findings: Finding[]): boolean {
  return findings.some(({ status }) => status === 'fail')
}

const colours = { ok: 'green', warn: 'yellow', fail: 'red' } as const

const summaryIndent = ' '.repeat(6)
const detailIndent = ' '.repeat(8)

/** The findings for people, each with its hint, wrapped to `width` columns. */
export function reportText(findings: Finding[], colour: boolean, width = Infinity): string {
  const lines = findings.flatMap(({ status, summary, details, hint }) => {
    const first = paint(colour, colours[status], status.padEnd(summaryIndent.length))
    return [
      ...wrapWords(summary, width, first, summaryIndent),
      ...details.flatMap(detail => wrapWords(detail, width, detailIndent, detailIndent)),
      ...(hint === null || status === 'ok' ? [] : wrapWords(hint, width, '      > ', detailIndent)),
    ]
  })
  return [...lines, '', conclusion(findings)].join('\n')
}

function conclusion(findings: Finding[]): string {
  const count = (wanted: Finding['status']) =>
    findings.filter(({ status }) => status === wanted).length
  const [failed, warned] = [count('fail'), count('warn')]
  if (failed + warned === 0) return 'Everything is in order.'
  const parts = [failed > 0 && `${failed} failed`, warned > 0 && `${warned} to look at`]
  return `${counted(findings.length, 'check')}: ${parts.filter(Boolean).join(', ')}.`
}
