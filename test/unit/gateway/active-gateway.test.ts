import { expect } from 'chai'
import {
  parseActiveGateway,
  registryMark,
  activeGatewayJson,
} from '../../../src/server/gateway/active-gateway.ts'
import { makeActiveGateway } from './active-gateways.ts'

describe('what a gateway says of itself', () => {
  const said = activeGatewayJson(makeActiveGateway())
  const text = (members: object) => JSON.stringify({ ...said, ...members })

  it('is understood by another', () => {
    expect(parseActiveGateway(text({}))).to.deep.equal(makeActiveGateway())
    expect(parseActiveGateway(text({ pid_start: null }))).to.deep.equal(
      makeActiveGateway({ pidStart: null }),
    )
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
    it(`is not said by ${what}`, () => expect(parseActiveGateway(answer)).to.equal(null))
  }

  it('is safe to show, whoever says it', () => {
    const active = parseActiveGateway(text({ version: '\u001b[2J1', registry: 'a\nb'.repeat(100) }))
    expect(active?.version).to.equal('1')
    expect(active?.registry).to.have.length(64).and.not.contain('\n')
  })

  it('identifies the state directory without its path', () => {
    expect(registryMark('/tmp/a'))
      .to.match(/^[0-9a-f]{16}$/)
      .and.not.equal(registryMark('/tmp/b'))
  })
})
