import { makeProject } from './project.ts';

/** One complaint of the linter. */
export interface Finding {
  readonly file: string;
  readonly line: number;
  /** `style/noProcessEnv`, or `plugin` for the rules in `.biome`. */
  readonly rule: string;
  readonly message: string;
}

/** What the repository's linter says about these files, with the repository's configuration, in the order of lines. */
export async function lint(files: Readonly<Record<string, string>>): Promise<readonly Finding[]> {
  const project = makeProject(files);
  try {
    // There is no Git here, so nothing is ignored.
    const args = ['lint', '--vcs-enabled=false', '--max-diagnostics=none', '--reporter=json', '.'];
    const { stdout, stderr } = await project.run('biome', args);
    if (!stdout.startsWith('{')) throw new Error(`biome has no report: ${stderr}`);
    const { diagnostics } = JSON.parse(stdout) as BiomeReport;
    return diagnostics
      .map(({ category, message, location }) => ({
        file: location.path,
        line: location.start?.line ?? 0,
        rule: category.replace(/^lint\//, ''),
        message,
      }))
      .sort((a, b) => a.file.localeCompare(b.file) || a.line - b.line);
  } finally {
    project.remove();
  }
}

interface BiomeReport {
  readonly diagnostics: readonly {
    readonly category: string;
    readonly message: string;
    readonly location: { readonly path: string; readonly start?: { readonly line: number } };
  }[];
}
