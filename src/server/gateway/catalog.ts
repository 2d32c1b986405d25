import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { decodeText, readBounded } from '../../lib/util/bytes.ts'
import { readProblem, ServiceError } from '../../lib/util/errors.ts'
import { FileFollower } from '../../lib/util/file-follower.ts'
import { firstIssue } from '../../lib/util/first-issue.ts'
import { fail, ok, type Result } from '../../lib/util/result.ts'
import { cleanText } from '../../lib/util/text.ts'

/** Bytes of a catalog file. */
const maxCatalogBytes = 1024 * 1024

/** The catalog of the adapters in this package; `src` and `dist` lie equally deep. */
const bundledCatalog = fileURLToPath(new URL('../../../adapters/catalog.json', import.meta.url))

const text = z.string().min(1)
const texts = z.array(text).optional()
// Pages may show them as links.
const url = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' })
const hexadecimal = (digits: number) =>
  z.string().regex(new RegExp(`^[0-9a-f]{${digits}}$`), `must be ${digits} lower-case hex digits`)

/** How the package is installed; shown to clients, never executed. */
const install = z.strictObject({
  type: z.enum(['git', 'zip', 'path', 'pip', 'command']),
  url: url.optional(),
  ref: hexadecimal(40).optional(),
  sha256: hexadecimal(64).optional(),
  skillRoots: texts,
  pip_package: text.optional(),
  pip_extras: texts,
  python_path: text.optional(),
  entry_point: text.optional(),
  instructions_url: url.optional(),
  command: texts,
})

const content = z.strictObject({
  format: z.enum(['adapter', 'skill', 'skill-bundle', 'agent-plugin', 'cua-profile', 'composite']),
  skills: texts,
  components: z.array(z.strictObject({ kind: text, id: text, root: text.optional() })).optional(),
})

const catalogEntry = z.strictObject({
  // Stands in a URI without any escape.
  name: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, 'must be letters, digits, ".", "_", "-"'),
  description: text,
  dcc: texts,
  targets: z
    .array(z.strictObject({ kind: z.enum(['dcc', 'application', 'game', 'web']), id: text }))
    .optional(),
  url: url.optional(),
  tags: texts,
  version: text.optional(),
  min_core_version: text.optional(),
  install: install.optional(),
  package: content.optional(),
  maintainer: text.optional(),
  category: text.optional(),
  policy: z.strictObject({ installation: text.optional() }).optional(),
  requires: z
    .strictObject({ env: texts, bins: texts, python: text.optional(), skills: texts })
    .optional(),
  icon: url.optional(),
  showcase: z.array(url).optional(),
  docs: url.optional(),
  license: text.optional(),
})

const catalogFile = z.strictObject({
  schema_version: z.literal(1),
  name: text.optional(),
  entries: z
    .array(catalogEntry)
    .refine(all => new Set(all.map(({ name }) => name)).size === all.length, 'two have one name'),
})

/** One package of a catalog. Member names are those of the file and of the wire (docs/catalog.md). */
export type CatalogEntry = z.infer<typeof catalogEntry>

/** A catalog in a file, which is read again when it changed. */
export class Catalog {
  /** Those that were valid last, in the order of the file. */
  entries: readonly CatalogEntry[] = []
  /** What is wrong with the file since then; null: nothing. */
  problem: string | null = null
  readonly #path: string
  readonly #follower: FileFollower

  /**
   * The bundled catalog without a `path`. Throws `config_invalid` for a file that cannot be read or
   * is no valid catalog.
   */
  static async open(path = bundledCatalog): Promise<Catalog> {
    const catalog = new Catalog(path)
    await catalog.refresh()
    const { problem } = catalog
    if (problem === null) return catalog
    const message = `the catalog ${path} is unusable: ${problem}`
    throw new ServiceError('config_invalid', message, {
      hint: 'correct the file; its format is in docs/catalog.md',
    })
  }

  private constructor(path: string) {
    this.#path = path
    this.#follower = new FileFollower(this.#path)
  }

  /** Reads the file when it changed. One that became invalid leaves the entries as they are. */
  refresh(): Promise<void> {
    return this.#follower.look(async () => {
      const read = await readCatalog(this.#path)
      if (read.ok) this.entries = read.value
      this.problem = read.ok ? null : read.failure
      return true
    })
  }

  /** The entries that have each word of the query in name, application, tags or description. */
  search(query: string): CatalogEntry[] {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean)
    return this.entries.filter(({ name, dcc = [], targets = [], tags = [], description }) => {
      const ids = targets.map(({ id }) => id)
      const said = [name, ...dcc, ...ids, ...tags, description].join('\n').toLowerCase()
      return words.every(word => said.includes(word))
    })
  }
}

async function readCatalog(path: string): Promise<Result<readonly CatalogEntry[], string>> {
  try {
    const bytes = await readBounded(path, maxCatalogBytes)
    const decoded = bytes.ok ? decodeText(bytes.value) : bytes
    if (!decoded.ok) return decoded
    const parsed = catalogFile.safeParse(JSON.parse(decoded.value))
    return parsed.success ? ok(parsed.data.entries) : fail(cleanText(firstIssue(parsed.error)))
  } catch (error) {
    if (error instanceof SyntaxError)
      return fail(`it is not valid JSON: ${cleanText(error.message)}`)
    return fail(`it cannot be read: ${readProblem(error)}`)
  }
}
