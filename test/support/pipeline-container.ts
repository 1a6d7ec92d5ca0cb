import 'reflect-metadata';

type Token = abstract new (...args: never[]) => unknown;

/** Nest's own decorator writes the tokens of `@Inject` here. */
const INJECTED = 'self:paramtypes';

/**
 * Builds services as Nest would, one of each, from the types of their constructors; without modules and lifecycle, so
 * that a node costs nothing and a test can put its own in the place of any dependency.
 */
export class Container {
  private readonly made = new Map<unknown, unknown>();

  set(token: unknown, value: unknown): void {
    this.made.set(token, value);
  }

  get<T>(type: abstract new (...args: never[]) => T): T {
    return this.resolve(type) as T;
  }

  private resolve(token: unknown): unknown {
    if (this.made.has(token)) return this.made.get(token);
    if (typeof token !== 'function') throw new Error(`nothing was given for ${String(token)}`);
    const types = (Reflect.getMetadata('design:paramtypes', token) ?? []) as Token[];
    const named = (Reflect.getMetadata(INJECTED, token) ?? []) as { index: number; param: unknown }[];
    const dependencies = types.map((type, index) => named.find((item) => item.index === index)?.param ?? type);
    const value: unknown = Reflect.construct(
      token,
      dependencies.map((dependency) => this.resolve(dependency)),
    );
    this.made.set(token, value);
    return value;
  }
}
