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
// Clients may show them as links.
const url = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }).optional()

const catalogEntry = z.looseObject({
  // Stands in a URI without any escape.
  name: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, 'must be letters, digits, ".", "_", "-"'),
  description: text,
  dcc: texts,
  targets: z.array(z.looseObject({ id: text })).optional(),
  tags: texts,
  url,
  docs: url,
  icon: url,
})

const catalogFile = z.object({
  schema_version: z.literal(1),
  entries: z
    .array(catalogEntry)
    .refine(all => new Set(all.map(({ name }) => name)).size === all.length, 'two have one name'),
})

/** One package of a catalog, as its file has it (docs/gateway.md): what is not checked is shown, too. */
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
      hint: 'correct the file; its format is in docs/gateway.md',
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
      const text = [name, ...dcc, ...ids, ...tags, description].join('\n').toLowerCase()
      return words.every(word => text.includes(word))
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
