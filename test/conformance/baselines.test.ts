import { readdirSync, readFileSync } from 'node:fs'
import { expect } from 'chai'

const folder = new URL('./', import.meta.url)
const baselines = readdirSync(folder).filter(name => /^expected-failures-.+\.yaml$/.test(name))

/** What a server of resources alone has no part in. `completion-complete` is about a prompt. */
const elsewhere =
  /^(tools-(list|call-.+)|prompts-.+|completion-complete|logging-.+|elicitation-.+|json-schema-.+|input-required-result-.+|tasks-.+):/

/** Checks of the transport that look at it through a tool or a prompt that the server has not. */
const throughOthers: readonly string[] = [
  'server-stateless:sep-2575-server-rejects-undeclared-capability',
  'server-stateless:sep-2575-missing-capability-http-400',
  'caching:sep-2549-prompts-list-caching-hints',
]

describe('what the conformance suite may find missing', () => {
  it('is written down for every revision that the suite knows', () => {
    expect(baselines).to.deep.equal([
      'expected-failures-2025-03-26.yaml',
      'expected-failures-2025-06-18.yaml',
      'expected-failures-2025-11-25.yaml',
      'expected-failures-2026-07-28.yaml',
    ])
  })

  for (const name of baselines) {
    it(`${name}: has a reason for each entry, and none about resources or the transport`, () => {
      const [, list = ''] = readFileSync(new URL(name, folder), 'utf8').split(/^server:/m)
      let reason: string | null = null
      for (const line of list.split('\n').filter(line => line.trim() !== '')) {
        if (/^ {2}# \S/.test(line)) {
          reason = line
          continue
        }
        if (line === ' []') continue
        const entry = /^ {2}- ([a-z\d-]+:[a-z\d-]+)$/.exec(line)?.[1] ?? ''
        expect(entry, line).not.to.equal('')
        expect(reason, `${line} has no reason`).not.to.equal(null)
        if (!throughOthers.includes(entry)) expect(entry).to.match(elsewhere)
      }
    })
  }
})
