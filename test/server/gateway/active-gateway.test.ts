import { expect } from 'chai'
import {
  parseResident,
  registryMark,
  residentJson,
} from '../../../src/server/gateway/active-gateway.ts'
import { makeResident } from './active-gateways.ts'

describe('what a gateway says of itself', () => {
  const said = residentJson(makeResident())
  const text = (members: object) => JSON.stringify({ ...said, ...members })

  it('is understood by another', () => {
    expect(parseResident(text({}))).to.deep.equal(makeResident())
    expect(parseResident(text({ pid_start: null }))).to.deep.equal(makeResident({ pidStart: null }))
  })

  const strange: [string, string][] = [
    ['nothing', ''],
    ['no object', '[]'],
    ['what serve says', '{"status":"ok"}'],
    ['another program', text({ service: 'nginx' })],
    ['another role', text({ role: 'serve' })],
    ['an id that is none', text({ instance_id: '../../etc' })],
    ['no process', text({ pid: undefined })],
    ['a process group', text({ pid: -1 })],
    ['every process', text({ pid: 0 })],
    ['a process in words', text({ pid: '4711' })],
    ['no version', text({ version: 3 })],
    ['no address', text({ url: 'file:///etc/passwd' })],
    ['no time', text({ started_at: 'yesterday' })],
    ['a deep answer', `${'['.repeat(20)}${']'.repeat(20)}`],
  ]
  for (const [what, answer] of strange) {
    it(`is not said by ${what}`, () => expect(parseResident(answer)).to.equal(null))
  }

  it('is safe to show, whoever says it', () => {
    const resident = parseResident(text({ version: '\u001b[2J1', registry: 'a\nb'.repeat(100) }))
    expect(resident?.version).to.equal('1')
    expect(resident?.registry).to.have.length(64).and.not.contain('\n')
  })

  it('names the registry folder without telling it', () => {
    expect(registryMark('/tmp/a'))
      .to.match(/^[0-9a-f]{16}$/)
      .and.not.equal(registryMark('/tmp/b'))
  })
})
