import type { Finding } from './finding.ts'

type Holder = import('../../server/gateway/election-state.ts').Holder

/** What a look at the gateway's port found; `registry` is the mark of the folder that is examined. */
export function judgeGateway(holder: Holder, registry: string): Finding {
  const check = 'gateway'
  switch (holder.kind) {
    case 'nobody':
    case 'stranger': {
      const hint = 'service-cli gateway, or serve --gateway, starts one'
      return { check, status: 'ok', summary: 'no gateway runs', hint }
    }
    case 'silent': {
      const { resident } = holder
      if (resident === null) return { check, status: 'ok', summary: 'no gateway runs' }
      return {
        check,
        status: 'fail',
        summary: `the gateway (process ${resident.pid}) takes connections and answers nothing`,
        hint: 'service-cli gateway --replace-unresponsive takes its place',
      }
    }
    case 'gateway': {
      const { pid, version, url } = holder.resident
      const summary = `the gateway answers at ${url} (process ${pid}, version ${version})`
      if (holder.resident.registry === registry) return { check, status: 'ok', summary }
      return {
        check,
        status: 'warn',
        summary: `${summary}, and shows another registry folder`,
        hint: 'start one of your own with service-cli gateway --port 0, or name its --registry-dir',
      }
    }
  }
}

/** Asks whoever has the port of gateways. */
export async function lookAtGateway(registryDir: string, port: number): Promise<Finding> {
  const [{ createHolderProbe }, { readResidentFile, residentFile }, { registryMark }, fs] =
    await Promise.all([
      import('../../server/gateway/holder-probe.ts'),
      import('../../server/gateway/resident-file.ts'),
      import('../../server/gateway/resident.ts'),
      import('node:fs/promises'),
    ])
  const probe = createHolderProbe({
    base: `http://127.0.0.1:${port}`,
    timeoutMs: 3000,
    written: () => readResidentFile(residentFile(registryDir, port)),
  })
  try {
    const path = await fs.realpath(registryDir).catch(() => registryDir)
    return judgeGateway(await probe.look(), registryMark(path))
  } finally {
    probe.close()
  }
}
