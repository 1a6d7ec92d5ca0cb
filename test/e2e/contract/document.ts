/** The part of OpenAPI that the product's own document uses. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: 'string' | 'number' | 'integer' | 'boolean' | 'array' | 'object';
  readonly format?: string;
  readonly nullable?: boolean;
  readonly enum?: readonly unknown[];
  readonly items?: Schema;
  readonly allOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema?: Schema }>>;
}

export interface Operation {
  readonly security?: unknown[];
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly schema?: Schema }[];
  readonly requestBody?: Content;
  readonly responses: Readonly<Record<string, Content>>;
}

export interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** One call that the document describes, such as `GET /v1/im/users/{uid}`. */
export interface Described {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

export function operationsOf(document: ApiDocument): Described[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([verb, operation]) => {
      const method = verb.toUpperCase();
      return { name: `${method} ${path}`, method, path, operation };
    }),
  );
}

const ISO = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

/** Compares values with what the document says of them. */
export class Schemas {
  constructor(private readonly document: ApiDocument) {}

  resolve(schema: Schema): Schema {
    if (schema.$ref) return this.resolve(this.document.components.schemas[schema.$ref.split('/').pop()!]);
    if (!schema.allOf) return schema;
    const { allOf, ...rest } = schema;
    const parts = allOf.map((part) => this.resolve(part));
    const properties = Object.assign({}, ...parts.map((part) => part.properties)) as Schema['properties'];
    return { ...Object.assign({}, ...parts), ...rest, ...(properties ? { properties } : {}) } as Schema;
  }

  bodyOf(operation: Operation): Schema | null {
    const schema = operation.requestBody?.content?.['application/json']?.schema;
    return schema ? this.resolve(schema) : null;
  }

  /** @returns what differs; fields that the document does not know differ, too */
  problems(given: Schema, value: unknown, at = 'answer'): string[] {
    const schema = this.resolve(given);
    if (value === null) return schema.nullable ? [] : [`${at} is null`];
    if (schema.oneOf) {
      return schema.oneOf.some((one) => this.problems(one, value, at).length === 0) ? [] : [`${at} is none of oneOf`];
    }
    if (schema.enum && !schema.enum.includes(value)) return [`${at} is ${JSON.stringify(value)}`];
    switch (schema.type) {
      case 'array':
        if (!Array.isArray(value)) return [`${at} is no array`];
        return value.flatMap((one, index) => this.problems(schema.items ?? {}, one, `${at}[${index}]`));
      case 'object':
        return typeof value === 'object' && !Array.isArray(value)
          ? this.objectProblems(schema, value as Record<string, unknown>, at)
          : [`${at} is no object`];
      case 'integer':
      case 'number':
        return typeof value === 'number' ? [] : [`${at} is no number`];
      case 'string':
        if (typeof value !== 'string') return [`${at} is no string`];
        return schema.format === 'date-time' && !ISO.test(value) ? [`${at} is no time: ${value}`] : [];
      case 'boolean':
        return typeof value === 'boolean' ? [] : [`${at} is no boolean`];
      default:
        return [];
    }
  }

  private objectProblems({ properties, required = [] }: Schema, value: Record<string, unknown>, at: string): string[] {
    // An object without described fields is free.
    if (!properties) return [];
    const missing = required.filter((name) => value[name] === undefined).map((name) => `${at}.${name} is missing`);
    const found = Object.entries(value).flatMap(([name, field]) =>
      name in properties ? this.problems(properties[name], field, `${at}.${name}`) : [`${at}.${name} is not described`],
    );
    return [...missing, ...found];
  }
}
