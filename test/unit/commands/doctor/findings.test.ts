import { expect } from 'chai'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { judgeBlender } from '../../../../src/commands/doctor/check-adapters.ts'
import {
  checkEnvironment,
  checkNode,
  judgeCapture,
  variables,
} from '../../../../src/commands/doctor/examine.ts'
import { judgeGateway } from '../../../../src/commands/doctor/check-gateway.ts'
import {
  type InstanceFacts,
  judgeInstances,
} from '../../../../src/commands/doctor/check-instances.ts'
import { judgePort, type PortState } from '../../../../src/commands/doctor/check-ports.ts'
import { judgePath, type PathFacts } from '../../../../src/commands/doctor/check-private-path.ts'
import {
  anyFailed,
  type Finding,
  reportJson,
  reportText,
} from '../../../../src/commands/doctor/finding.ts'
import type { Holder } from '../../../../src/server/gateway/election.ts'
import { root } from '../../../helpers/program.ts'
import { makeActiveGateway } from '../../gateway/active-gateways.ts'

describe('checkNode', () => {
  const cases: [version: string, platform: string, status: Finding['status']][] = [
    ['24.15.0', 'linux-x64', 'ok'],
    ['24.21.0', 'linux-arm64', 'ok'],
    ['25.0.0', 'linux-x64', 'ok'],
    ['24.14.9', 'linux-x64', 'fail'],
    ['20.20.2', 'linux-x64', 'fail'],
    ['24.15.0', 'darwin-arm64', 'warn'],
    ['24.15.0', 'win32-x64', 'warn'],
  ]
  for (const [version, platform, status] of cases) {
    it(`is ${status} with ${version} on ${platform}`, () => {
      expect(checkNode(version, platform).status).to.equal(status)
    })
  }
})

describe('judgeCapture', () => {
  const works = { name: 'x11', unavailable: null } as const
  const missing = {
    reason: 'not_installed',
    message: 'it is not installed',
    hint: 'npm install it',
  }
  const lacks = { name: 'native', unavailable: missing } as const

  it('is ok when one way works, and names what the others lack', () => {
    const { status, summary, details } = judgeCapture([lacks, works], {})
    expect(status).to.equal('ok')
    expect(summary).to.contain('(x11)')
    expect(details).to.deep.equal(['native: it is not installed; npm install it'])
  })

  it('is something to look at, no failure, when none works', () => {
    const finding = judgeCapture([lacks], {})
    expect(finding).to.include({ status: 'warn' })
    expect(finding.hint).to.contain('docs/capture.md')
  })

  it('is ok when none works and the connected application draws its window itself', () => {
    expect(judgeCapture([lacks], {}, true)).to.include({ status: 'ok' })
  })

  for (const env of [{ WAYLAND_DISPLAY: 'wayland-0' }, { XDG_SESSION_TYPE: 'wayland' }]) {
    it(`says what is not seen with ${JSON.stringify(env)}`, () => {
      const { status, details } = judgeCapture([works], env)
      expect(status).to.equal('warn')
      expect(details?.join()).to.contain('Wayland').and.contain('Blender add-on')
    })
  }
})

describe('judgePath', () => {
  const wanted = {
    check: 'registry_dir',
    what: 'the state directory',
    path: '/tmp/r',
    kind: 'folder',
    absent: 'not there yet',
    elsewhere: 'name another one',
  } as const
  const own: PathFacts = { kind: 'folder', uid: 1000, mode: 0o40700 }
  const cases: [Partial<PathFacts>, uid: number | null, Finding['status'], told: string][] = [
    [{}, 1000, 'ok', 'is private'],
    [{ kind: 'absent' }, 1000, 'ok', 'not there yet'],
    [{ kind: 'link' }, 1000, 'fail', 'symbolic link'],
    [{ kind: 'file' }, 1000, 'fail', 'is not a folder'],
    [{ uid: 1001 }, 1000, 'fail', 'uid 1001'],
    [{ mode: 0o40755 }, 1000, 'fail', 'mode 0755'],
    [{ mode: 0o40720 }, 1000, 'fail', 'mode 0720'],
    [{}, null, 'warn', 'not checked on this system'],
  ]
  for (const [facts, uid, status, told] of cases) {
    it(`is ${status} for ${JSON.stringify(facts)} as ${uid}`, () => {
      const finding = judgePath(wanted, { ...own, ...facts }, uid)
      expect(finding.status).to.equal(status)
      expect(finding.summary).to.contain(told)
    })
  }

  it('says how an open one is closed', () => {
    expect(judgePath(wanted, { ...own, mode: 0o40755 }, 1000).hint).to.equal('chmod 700 /tmp/r')
    const file = { ...own, kind: 'file', mode: 0o100644 } as const
    expect(judgePath({ ...wanted, kind: 'file' }, file, 1000).hint).to.equal('chmod 600 /tmp/r')
  })
})

describe('judgeGateway', () => {
  const active = makeActiveGateway()
  const cases: [Holder, Finding['status'], told: string][] = [
    [{ kind: 'free' }, 'ok', 'no gateway runs on port 9765'],
    [{ kind: 'stranger', answer: 'x' }, 'ok', 'no gateway runs on port 9765'],
    [{ kind: 'silent', active: null, pid: null }, 'ok', 'no gateway runs on port 9765'],
    [{ kind: 'silent', active, pid: null }, 'fail', 'does not answer'],
    [{ kind: 'silent', active: null, pid: 7 }, 'fail', 'process 7'],
    [{ kind: 'gateway', active }, 'ok', `answers at ${active.url}`],
    [
      { kind: 'gateway', active: { ...active, registry: 'another' } },
      'warn',
      'another state directory',
    ],
  ]
  for (const [holder, status, told] of cases) {
    it(`is ${status} and says: ${told}`, () => {
      const finding = judgeGateway(holder, active.registry, 9765)
      expect(finding).to.include({ check: 'gateway', status })
      expect(finding.summary).to.contain(told)
    })
  }

  it('names the port of one that has another, in what to do, too', () => {
    const finding = judgeGateway({ kind: 'silent', active, pid: null }, active.registry, 4711)
    expect(finding.check).to.equal('gateway_4711')
    expect(finding.hint).to.contain(`end process ${active.pid}`)
  })
})

describe('judgePort', () => {
  const port = { port: 9765, command: 'gateway' }
  const cases: [PortState, Finding['status'], told: string][] = [
    [{ kind: 'free' }, 'ok', 'is free'],
    [{ kind: 'unknown' }, 'warn', 'an unknown process'],
    [{ kind: 'held', pid: 7, command: 'nginx', own: null }, 'warn', 'nginx, process 7'],
    [
      { kind: 'held', pid: 7, command: 'service-cli', own: 'the gateway' },
      'ok',
      'the gateway, process 7',
    ],
  ]
  for (const [state, status, told] of cases) {
    it(`is ${status} when it is ${JSON.stringify(state)}`, () => {
      const finding = judgePort(port, state)
      expect(finding.status).to.equal(status)
      expect(finding.summary).to.contain('port 9765 (gateway)').and.contain(told)
    })
  }
})

describe('checkEnvironment', () => {
  it('names what is set, and shows no value', () => {
    const finding = checkEnvironment({ SERVICE_TOKEN: 'the-secret', SERVICE_MCP_API_KEY: 'key!' })
    expect(finding.status).to.equal('ok')
    const text = reportText([finding], false)
    expect(text).to.contain('SERVICE_TOKEN is set').and.contain('SERVICE_MCP_API_KEY is set')
    expect(text).not.to.match(/the-secret|key!/)
  })

  it('is suspicious of a variable that is empty', () => {
    const finding = checkEnvironment({ SERVICE_MCP_API_KEY: '', SERVICE_TOKEN: 'x' })
    expect(finding).to.include({ status: 'warn' })
    expect(finding.summary).to.contain('SERVICE_MCP_API_KEY').and.not.contain('SERVICE_TOKEN')
  })

  it('knows every variable that the program reads, and the README has a row for each', () => {
    const files = globSync('src/**/*.ts', { cwd: root })
    const names = files.flatMap(file => {
      const code = readFileSync(join(root, file), 'utf8')
      return Array.from(code.matchAll(/\bSERVICE_[A-Z_]+\b/g), ([name]) => name)
    })
    // The code of a warning.
    const read = new Set(names).difference(new Set(['SERVICE_AUTH_DISABLED']))
    expect([...read].toSorted()).to.deep.equal(Object.keys(variables).toSorted())
    const rows = readFileSync(join(root, 'README.md'), 'utf8').matchAll(/^\| `(SERVICE_\w+)` \|/gm)
    const documented = Array.from(rows, ([, name]) => name)
    expect(documented.toSorted()).to.deep.equal(Object.keys(variables).toSorted())
  })

  it('has nothing to say where nothing is set', () => {
    expect(checkEnvironment({ PATH: '/bin' })).to.deep.include({ status: 'ok', details: [] })
  })
})

describe('judgeBlender', () => {
  it('looks for what connects Blender only where there is Blender and no connection', () => {
    const program = '/usr/bin/blender'
    const away = { hasServer: true, connected: false, wasConnected: false }
    expect(judgeBlender({ ...away, program: null }).status).to.equal('ok')
    expect(judgeBlender({ ...away, program, connected: true }).status).to.equal('ok')
    expect(judgeBlender({ ...away, program, wasConnected: true }).status).to.equal('ok')
    const finding = judgeBlender({ ...away, program })
    expect(finding.status).to.equal('warn')
    expect(finding.hint).to.contain('adapter blender').and.not.contain('serve')
  })

  it('first of all has a server started where none runs', () => {
    const away = { hasServer: false, connected: false, wasConnected: false }
    const { hint } = judgeBlender({ ...away, program: '/usr/bin/blender' })
    expect(hint).to.match(/^start a server: service-cli serve --dcc-type blender; then.* Connect/)
  })
})

describe('a report', () => {
  const ok: Finding = { check: 'a', status: 'ok', summary: 'good', hint: 'for nobody' }
  const warn: Finding = {
    check: 'b',
    status: 'warn',
    summary: 'so so',
    details: ['x'],
    hint: 'look',
  }
  const fail: Finding = { check: 'c', status: 'fail', summary: 'bad', hint: 'mend' }

  it('says what to do, about what is wrong alone', () => {
    const text = reportText([ok, warn, fail], false)
    expect(text.split('\n')).to.deep.equal([
      'ok    good',
      'warn  so so',
      '        x',
      '      > look',
      'fail  bad',
      '      > mend',
      '',
      '3 checks: 1 failed, 1 to look at.',
    ])
    expect(reportText([ok], false)).to.contain('Everything is in order.')
  })

  it('has escape codes only in colour', () => {
    expect(reportText([fail], false)).not.to.contain('\u001b')
    expect(reportText([fail], true)).to.contain('\u001b[31mfail')
  })

  it('has every member in JSON', () => {
    expect(reportJson([ok, warn])).to.deep.equal({
      ok: true,
      checks: [
        { check: 'a', status: 'ok', summary: 'good', details: [], hint: 'for nobody' },
        { check: 'b', status: 'warn', summary: 'so so', details: ['x'], hint: 'look' },
      ],
    })
  })

  it('is bad only when something failed', () => {
    expect(anyFailed([ok, warn])).to.equal(false)
    expect(anyFailed([ok, fail])).to.equal(true)
    expect(reportJson([fail])).to.include({ ok: false })
  })
})

describe('reportText on a terminal', () => {
  it('breaks lines between words, below the label', () => {
    const summary =
      'the state directory /tmp/service-cli-1000/with/a/long/name is open to other users'
    const finding: Finding = {
      check: 'x',
      status: 'warn',
      summary,
      details: [summary],
      hint: `${summary} and more`,
    }
    const lines = reportText([finding], false, 80).split('\n')
    for (const line of lines) expect(line.length).to.be.at.most(80)
    expect(lines[1]).to.equal('      other users')
    const words = lines.flatMap(line => line.split(' ')).filter(word => word !== '')
    expect(words).to.include.members(summary.split(' '))
  })
})

describe('judgeInstances', () => {
  const since = '2026-03-04T05:06:07.250Z'
  const application = { connected: true, since, what: 'blender 3.4.1', pid: 8 }
  const live: InstanceFacts = {
    shortId: 'a1b2c3d4',
    name: 'desk',
    health: 'live',
    reason: 'fine',
    pid: 7,
    application,
  }
  const server = 'the server of desk (a1b2c3d4), process 7,'

  it('tells the process of the server from the one of its application', () => {
    const { status, details } = judgeInstances([live])
    expect(status).to.equal('ok')
    expect(details).to.deep.equal([`${server} runs; blender 3.4.1, process 8, is connected`])
  })

  it('warns of an application that is gone, and says what to do', () => {
    const gone = { ...live, application: { ...application, connected: false, pid: null } }
    const { status, summary, details, hint } = judgeInstances([live, gone])
    expect([status, summary]).to.deep.equal(['warn', '1 of 2 instances without application'])
    expect(details?.[1]).to.equal(`${server} runs; application gone since ${since}`)
    expect(hint).to.contain('press Connect')
  })

  it('is content with a server that no application has used yet, and says so', () => {
    const none = { ...application, connected: false, since: null, pid: null }
    const { status, details } = judgeInstances([{ ...live, application: none }])
    expect(status).to.equal('ok')
    expect(details).to.deep.equal([`${server} runs; no application has connected yet`])
  })
})
