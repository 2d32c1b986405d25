import { expect } from 'chai'
import type { Instance } from '../../../../src/lib/instances/instance.ts'
import { checkName, chooseTarget } from '../../../../src/lib/mcp/settings/choose-target.ts'

function instance(id: string, dccType: string, port: number): Instance {
  return {
    id,
    dccType,
    displayName: dccType,
    scene: null,
    url: `http://127.0.0.1:${port}/mcp`,
    pid: 1,
    pidStart: null,
    hostname: 'here',
    startedMs: 0,
  }
}

const blender = instance('11111111-aaaa', 'blender', 8765)
const second = instance('22222222-bbbb', 'blender', 8766)
const maya = instance('33333333-cccc', 'maya', 8767)
const far = { ...instance('55555555-eeee', 'blender', 8769), url: 'http://192.0.2.7:8769/mcp' }
const unknown = instance('44444444-dddd', 'unknown', 8768)

function chosen(asked: { url?: string; instance?: string }, live: Instance[]): string {
  try {
    const { url, name, word, assumed } = chooseTarget(asked, live)
    return `${url} as ${name} by ${word}${assumed ? ', assumed' : ''}`
  } catch (error) {
    const { message, hint } = error as { message: string; hint?: string }
    return `${message}; ${hint}`
  }
}

describe('chooseTarget', () => {
  const at = (port: number) => `http://127.0.0.1:${port}/mcp`
  const several = (other: string) =>
    `several servers are running: 11111111 (blender, ${at(8765)}), ${other}; choose one with --instance ID or --url URL, or all with --gateway`
  type Row = [asked: { url?: string; instance?: string }, live: Instance[], outcome: string]
  const rows: Row[] = [
    [{}, [], `${at(8765)} as service-cli by ${at(8765)}, assumed`],
    [{}, [blender], `${at(8765)} as blender by blender`],
    [{ instance: '5555' }, [far], `${far.url} as blender by ${far.url}`],
    [{}, [unknown], `${at(8768)} as service-cli by null`],
    [{}, [blender, maya], several(`33333333 (maya, ${at(8767)})`)],
    [{ instance: '2222' }, [blender, second], `${at(8766)} as blender by ${at(8766)}`],
    [{ instance: '44444444-dddd' }, [unknown, maya], `${at(8768)} as service-cli by ${at(8768)}`],
    [{ instance: 'blender' }, [blender, second], several(`22222222 (blender, ${at(8766)})`)],
    [
      { instance: '11' },
      [blender],
      `--instance 11 is too short; running: 11111111 (blender, ${at(8765)})`,
    ],
    [
      { instance: 'nuke' },
      [],
      'no running server matches --instance nuke; start one with service-cli serve',
    ],
    [{ url: 'http://127.0.0.1:8767/mcp' }, [maya], `${at(8767)} as maya by ${at(8767)}`],
    [{ url: '' }, [], '--url is empty; a variable may be unset'],
    [{ url: 'http://x/mcp#a' }, [], `--url must not contain a fragment (#); example: ${at(8765)}`],
    [
      { url: '127.0.0.1:8765' },
      [],
      `--url 127.0.0.1:8765 is not an http or https URL; example: ${at(8765)}`,
    ],
  ]
  for (const [asked, live, outcome] of rows) {
    const running = live.map(({ dccType }) => dccType).join(' and ') || 'nothing'
    it(`with ${running} running and ${JSON.stringify(asked)} asked for`, () => {
      expect(chosen(asked, live)).to.equal(outcome)
    })
  }

  it('does not repeat a password in a URL', () => {
    expect(chosen({ url: 'http://me:sesame@x/mcp' }, [])).to.match(/^--url contains a password/)
    expect(chosen({ url: 'http://me:sesame@x/mcp' }, [])).not.to.include('sesame')
  })
})

describe('checkName', () => {
  for (const name of ['A_b-9', 'x'.repeat(64)]) {
    it(`accepts ${name}`, () => {
      expect(checkName(name)).to.equal(name)
    })
  }
  for (const name of ['', 'a.b', 'é', 'x'.repeat(65)]) {
    it(`refuses ${JSON.stringify(name)}`, () => {
      expect(() => checkName(name)).to.throw('--name must be 1 to 64 letters')
    })
  }
})
