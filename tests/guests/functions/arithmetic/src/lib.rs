//! Sums, quotients and statistics, and two functions that behave badly.

wit_bindgen::generate!({ world: "arithmetic", path: "wit" });

struct Arithmetic;

impl Guest for Arithmetic {
    fn add(a: i64, b: i64) -> Result<i64, Fault> {
        a.checked_add(b).ok_or_else(|| Fault::Overflow(format!("{a} + {b}")))
    }

    fn divide(dividend: i64, divisor: i64) -> Result<Quotient, Fault> {
        if divisor == 0 {
            return Err(Fault::DivisionByZero);
        }
        let whole = dividend.checked_div_euclid(divisor);
        let whole = whole.ok_or_else(|| Fault::Overflow(format!("{dividend} / {divisor}")))?;
        Ok(Quotient { whole, rest: dividend.rem_euclid(divisor) })
    }

    fn summarize(numbers: Vec<f64>) -> Summary {
        let count = numbers.len();
        let mean = (count > 0).then(|| numbers.iter().sum::<f64>() / count as f64);
        Summary { count: count as u32, mean }
    }

    fn search() {
        let mut number = 1_u64;
        while std::hint::black_box(number) != 0 {
            number = number.wrapping_mul(3) | 1;
        }
    }

    fn zeros(count: u32) -> Vec<u8> {
        vec![0; count as usize]
    }
}

export!(Arithmetic);
