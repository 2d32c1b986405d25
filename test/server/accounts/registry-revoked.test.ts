import { expect } from 'chai'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createCaller, password, quickLimits } from '../../helpers/accounts-caller.ts'
import { createAccountsOwner } from '../../helpers/accounts-owner.ts'
import type { RunningAccounts } from '../../helpers/accounts-process.ts'
import { RawSocket, requestText } from '../../process/raw-socket.ts'
import { until } from '../../helpers/until.ts'
import { accountsInProcess } from '../../helpers/in-process-servers.ts'

type Caller = ReturnType<typeof createCaller>

describe('tokens that a registry has ended', () => {
  let folder: string
  let dataDir: string

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'registry-revoked-'))
    dataDir = join(folder, 'data')
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  async function serving<Value>(
    flags: readonly string[],
    use: (caller: Caller, registry: RunningAccounts) => Promise<Value>,
  ): Promise<Value> {
    const registry = await accountsInProcess({ dataDir, flags: [...quickLimits, ...flags] })
    try {
      return await use(createCaller(registry.url), registry)
    } finally {
      await registry.stop()
    }
  }

  it('are refused by the next request, and after a restart', async () => {
    const ended = await serving([], async caller => {
      const owner = createAccountsOwner(dataDir)
      const ways: Record<string, (access: string) => Promise<unknown>> = {
        outlogged: access => caller.call('POST', '/logout', access),
        everywhere: access => caller.call('POST', '/logout', access, { all: true }),
        disabled: () => owner.ask(['users', 'disable', 'disabled']),
        deleted: () => owner.ask(['users', 'delete', 'deleted', '--yes']),
        changed: async () => {
          const { json } = await caller.login('changed')
          const body = { current_password: password, new_password: 'another honest phrase' }
          await caller.call('PUT', '/password', json.access_token, body)
        },
      }
      const tokens: { name: string; access: string; refresh: string }[] = []
      for (const [name, end] of Object.entries(ways)) {
        const { access_token: access, refresh_token: refresh } = await caller.register(name)
        expect(await caller.me(access), name).to.equal('200')
        await end(access)
        expect(await caller.me(access), name).to.equal('401 token-revoked')
        expect((await caller.refresh(refresh)).status, name).to.equal(401)
        tokens.push({ name, access, refresh })
      }
      return tokens
    })
    await serving([], async caller => {
      for (const { name, access, refresh } of ended) {
        expect(await caller.me(access), name).to.equal('401 token-revoked')
        expect((await caller.call('POST', '/refresh', access)).status, name).to.equal(401)
        expect((await caller.refresh(refresh)).status, name).to.equal(401)
      }
    })
  })

  it('end their session when they are used again later, and not within the grace time', async () => {
    await serving([], async caller => {
      const { refresh_token: first } = await caller.register('alice')
      // Fifty programs with one file.
      const all = await Promise.all(Array.from({ length: 50 }, () => caller.refresh(first)))
      expect(new Set(all.map(({ status }) => status))).to.deep.equal(new Set([200]))
      const second = new Set(all.map(({ json }) => json.refresh_token))
      expect(second.size).to.equal(1)
      const third = (await caller.refresh([...second][0])).json
      expect(await caller.me(third.access_token)).to.equal('200')
      // Two steps behind: at once.
      expect((await caller.refresh(first)).json.code).to.equal('refresh-reused')
      expect(await caller.me(third.access_token)).to.equal('401 token-revoked')
    })
    const stolen = await serving(['--bound=refreshGraceMs=200'], async caller => {
      const { refresh_token: used } = await caller.register('bob')
      const next = (await caller.refresh(used)).json
      await until(
        async () => (await caller.refresh(used)).json.code === 'refresh-reused',
        'the grace time is over',
      )
      expect(await caller.me(next.access_token)).to.equal('401 token-revoked')
      return next
    })
    await serving([], async caller => {
      expect(await caller.me(stolen.access_token)).to.equal('401 token-revoked')
      expect((await caller.refresh(stolen.refresh_token)).json.code).to.equal('token-revoked')
    })
  })
})

describe('the log of a registry', () => {
  it('has one line for each request, whatever the request would have it say', async () => {
    const registry = await accountsInProcess({ flags: quickLimits })
    const forged = '","level":"error","msg":"forged"}\n{"msg":"\u001b[2Jforged'
    try {
      const caller = createCaller(registry.url)
      await caller.login(forged)
      await caller.call('GET', `/${encodeURIComponent(forged)}`)
      const raw = await RawSocket.open(registry.port)
      const lines = [
        'GET /x","level":"error","msg":"forged HTTP/1.1',
        'Host: localhost',
        'User-Agent: "},{"msg":"forged \u00ff',
        'Connection: close',
      ]
      raw.write(requestText(lines))
      await raw.untilClosed()
    } finally {
      await registry.stop()
    }
    const lines = registry
      .stderr()
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line))
    expect(lines.filter(({ msg }) => msg === 'request')).to.have.length(3)
    for (const { level, msg } of lines) {
      expect(level).not.to.equal('error')
      expect(msg).not.to.equal('forged')
    }
    expect(registry.stderr().replaceAll('\n', '')).not.to.match(/[\u0000-\u001f\u007f-\u009f]/)
  })
})
