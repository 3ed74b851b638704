//! Gives back what it gets, of every type.

wit_bindgen::generate!({ world: "all-types", path: "wit" });

struct AllTypes;

macro_rules! echoes {
    ($($name:ident: $ty:ty;)*) => {
        $(
            fn $name(v: $ty) -> $ty {
                v
            }
        )*
    };
}

impl Guest for AllTypes {
    echoes! {
        echo_bool: bool;
        echo_s8: i8;
        echo_u8: u8;
        echo_s16: i16;
        echo_u16: u16;
        echo_s32: i32;
        echo_u32: u32;
        echo_s64: i64;
        echo_u64: u64;
        echo_f32: f32;
        echo_f64: f64;
        echo_char: char;
        echo_string: String;
        echo_bytes: Vec<u8>;
        echo_strings: Vec<String>;
        echo_nested_list: Vec<Vec<i64>>;
        echo_tuple: (u8, String, f64);
        echo_point: Point;
        echo_person: Person;
        echo_shape: Shape;
        echo_color: Color;
        echo_permissions: Permissions;
        echo_option: Option<String>;
        echo_option_option: Option<Option<u8>>;
        echo_nested_result: Vec<Result<u32, String>>;
        echo_bare_result: (Result<(), ()>, Result<u8, ()>, Result<(), u8>);
        echo_everything: Everything;
        echo_result: Result<String, Shape>;
    }

    fn echo_many(
        v0: u8,
        v1: Option<String>,
        v2: Vec<u16>,
        v3: Shape,
        v4: char,
    ) -> (u8, Option<String>, Vec<u16>, Shape, char) {
        (v0, v1, v2, v3, v4)
    }

    fn nothing() {}
}

export!(AllTypes);
