import { expect } from 'chai'
import { globSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { judgeBlender } from '../../../src/commands/doctor/check-adapters.ts'
import { judgeGateway } from '../../../src/commands/doctor/check-gateway.ts'
import { checkHostTokens } from '../../../src/commands/doctor/check-host-tokens.ts'
import { judgePort } from '../../../src/commands/doctor/check-ports.ts'
import { judgePath, type PathFacts } from '../../../src/commands/doctor/check-private-path.ts'
import {
  checkEnvironment,
  checkNode,
  judgeCapture,
  variables,
} from '../../../src/commands/doctor/examine.ts'
import { type Finding, reportJson, reportText } from '../../../src/commands/doctor/finding.ts'
import type { Holder } from '../../../src/server/gateway/election.ts'
import { root } from '../../helpers/program.ts'
import { makeRecord } from '../../server/gateway/support.ts'
import { makeActiveGateway } from '../gateway/active-gateways.ts'

type Status = Finding['status']

describe('checkNode', () => {
  const cases: [version: string, platform: string, status: Status][] = [
    ['24.9.0', 'linux-x64', 'ok'],
    ['24.8.9', 'linux-x64', 'fail'],
    ['24.9.0', 'darwin-arm64', 'warn'],
  ]
  for (const [version, platform, status] of cases) {
    it(`is ${status} with ${version} on ${platform}`, () => {
      expect(checkNode(version, platform).status).to.equal(status)
    })
  }
})

describe('judgeCapture', () => {
  const works = { name: 'x11', unavailable: null } as const
  const reason = { message: 'it is not installed', hint: 'npm install it' }
  const lacks = { name: 'native', unavailable: { reason: 'not_installed', ...reason } } as const

  it('is ok when one way works or the application draws its window itself, and warns else', () => {
    const { status, summary, details } = judgeCapture([lacks, works], {})
    expect(status).to.equal('ok')
    expect(summary).to.contain('(x11)')
    expect(details).to.deep.equal(['native: it is not installed; npm install it'])
    expect(judgeCapture([lacks], {}, true).status).to.equal('ok')
    expect(judgeCapture([lacks], {}).status).to.equal('warn')
  })

  it('says what is not seen in a Wayland session', () => {
    for (const env of [{ WAYLAND_DISPLAY: 'wayland-0' }, { XDG_SESSION_TYPE: 'wayland' }]) {
      const { status, details } = judgeCapture([works], env)
      expect(status).to.equal('warn')
      expect(details?.join()).to.contain('Wayland').and.contain('Blender add-on')
    }
  })
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
  const cases: [facts: Partial<PathFacts>, uid: number | null, status: Status, told: string][] = [
    [{}, 1000, 'ok', 'is private'],
    [{ kind: 'link' }, 1000, 'fail', 'symbolic link'],
    [{ kind: 'file' }, 1000, 'fail', 'is not a folder'],
    [{ uid: 1001 }, 1000, 'fail', 'uid 1001'],
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
})

describe('judgeGateway', () => {
  const active = makeActiveGateway()
  const elsewhere = { ...active, registry: 'another' }
  const cases: [holder: Holder, status: Status, told: string][] = [
    [{ kind: 'stranger', answer: 'x' }, 'ok', 'no gateway runs on port 9765'],
    [{ kind: 'silent', active }, 'fail', 'does not answer'],
    [{ kind: 'silent', active: null }, 'ok', 'no gateway runs on port 9765'],
    [{ kind: 'gateway', active: elsewhere }, 'warn', 'another state directory'],
  ]
  for (const [holder, status, told] of cases) {
    it(`is ${status} and says: ${told}`, () => {
      const finding = judgeGateway(holder, active.registry, 9765)
      expect(finding).to.include({ check: 'gateway', status })
      expect(finding.summary).to.contain(told)
    })
  }
})

describe('judgePort', () => {
  const cases: [inUse: boolean, server: string | null, summary: string][] = [
    [false, null, 'port 9765 (gateway) is free'],
    [true, null, 'port 9765 (gateway) is in use'],
    [true, 'the server of maya', 'port 9765 (gateway) is in use by the server of maya'],
  ]
  for (const [inUse, server, summary] of cases) {
    it(`says: ${summary}`, () => {
      const finding = judgePort({ port: 9765, command: 'gateway' }, { inUse, server })
      expect(finding).to.include({ status: 'ok', summary })
      expect(finding.hint?.includes('use --port 0') === true).to.equal(inUse && server === null)
    })
  }
})

describe('checkEnvironment', () => {
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
})

describe('judgeBlender', () => {
  const away = { hasServer: true, connected: false, wasConnected: false, program: '/bin/blender' }

  it('looks for what connects Blender only where there is Blender and no connection', () => {
    for (const fine of [{ program: null }, { connected: true }, { wasConnected: true }]) {
      expect(judgeBlender({ ...away, ...fine }).status).to.equal('ok')
    }
    const { status, hint } = judgeBlender(away)
    expect(status).to.equal('warn')
    expect(hint).to.contain('adapter blender').and.not.contain('serve')
    const first = /^start a server: service-cli serve --dcc-type blender; then.* Connect/
    expect(judgeBlender({ ...away, hasServer: false }).hint).to.match(first)
  })
})

describe('checkHostTokens', () => {
  const instanceId = '0f0e0d0c-1111-4222-8333-444455556666'
  const running = [{ instanceId, shortId: '0f0e0d0c', name: 'Blender 4.2' }]

  it('names the instance and the file that was removed', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'host-tokens-'))
    const token = join(folder, `${instanceId}.token`)
    const record = (file: string | null) => {
      const members = makeRecord({ instance_id: instanceId, host_token_file: file })
      return writeFile(join(folder, `${instanceId}.json`), JSON.stringify(members))
    }
    await record(token)
    const missing = await checkHostTokens(folder, running)
    expect(missing.status).to.equal('warn')
    expect(missing.details).to.deep.equal([`Blender 4.2 (0f0e0d0c): ${token} is missing`])
    await writeFile(token, 'the-token')
    expect((await checkHostTokens(folder, running)).status).to.equal('ok')
    // A token of the environment has no file.
    await record(null)
    expect((await checkHostTokens(folder, running)).status).to.equal('ok')
    await rm(folder, { recursive: true })
  })
})

describe('a report', () => {
  const ok: Finding = { check: 'a', status: 'ok', summary: 'good', hint: 'for nobody' }
  const some = { summary: 'so so', details: ['x'], hint: 'look' }
  const warn: Finding = { check: 'b', status: 'warn', ...some }
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
    expect(reportText([fail], true)).to.contain('\u001b[31mfail')
  })

  it('has every member in JSON, and is ok unless something failed', () => {
    expect(reportJson([ok, warn])).to.deep.equal({
      ok: true,
      checks: [
        { check: 'a', status: 'ok', summary: 'good', details: [], hint: 'for nobody' },
        { check: 'b', status: 'warn', ...some },
      ],
    })
    expect(reportJson([fail])).to.include({ ok: false })
  })
})
