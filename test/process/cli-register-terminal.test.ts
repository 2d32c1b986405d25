import { expect } from 'chai'
import { type AccountHome, createAccountHome } from '../helpers/account-home.ts'
import { type Step, runOnTerminal, whyNoTerminal } from '../helpers/pseudo-terminal.ts'
import { quickLimits } from '../helpers/accounts-caller.ts'
import { createAccountsOwner } from '../helpers/accounts-owner.ts'
import type { RunningAccounts } from '../helpers/accounts-process.ts'
import { skipBecause } from '../helpers/skip.ts'
import { accountsInProcess } from '../helpers/in-process-servers.ts'

const password = 'typed Secret Ending'

describe('service-cli register on a terminal', () => {
  let registry: RunningAccounts
  let home: AccountHome

  const start = async (...flags: string[]) => {
    registry = await accountsInProcess({ flags: [...quickLimits, ...flags] })
    home = createAccountHome(registry.url)
  }

  before(function () {
    const why = whyNoTerminal()
    if (why !== null) skipBecause(this, why)
  })

  afterEach(async () => {
    await registry?.stop()
    home?.remove()
  })

  const type = async (args: readonly string[], steps: readonly Step[] = []) => {
    const { code, stdout } = await runOnTerminal(args, { env: home.env(), steps })
    return { code, screen: stdout }
  }

  it('asks for the invitation where the registry needs one, and shows neither secret', async () => {
    await start('--registration', 'invite')
    const { code: invite } = await createAccountsOwner(registry.dataDir).ask([
      'users',
      'add',
      'bob',
    ])
    const bob = ['register', 'bob', '--email', 'bob@studio.example']
    const typed = (code: string) => [
      { await: 'New password:', send: `${password}\r` },
      { await: 'again:', send: `${password}\r` },
      { await: 'Invitation code:', send: `${code}\r` },
    ]
    const wrong = await type(bob, typed('inv_wrong'))
    expect(wrong.code, wrong.screen).to.equal(3)
    expect(wrong.screen).to.contain('invitation code is unknown')
    const { code, screen } = await type(bob, typed(invite))
    expect(code, screen).to.equal(0)
    expect(screen).to.contain('registered bob').and.not.contain(invite).and.not.contain(password)
  })
})
