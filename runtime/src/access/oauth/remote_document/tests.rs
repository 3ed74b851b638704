use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::sync::Semaphore;

use super::*;

/// A fake issuer: what it publishes, how often it was asked, and whether it answers.
#[derive(Default)]
struct Issuer {
    published: AtomicUsize,
    fetches: AtomicUsize,
    is_down: AtomicBool,
}

impl Issuer {
    fn document(self: &Arc<Self>, gate: Option<Arc<Semaphore>>) -> Arc<RemoteDocument<usize>> {
        let issuer = Arc::clone(self);
        let max_age = Some(Duration::from_secs(600));
        Arc::new(RemoteDocument::new("the number of a test".to_owned(), move |_| {
            let (issuer, gate) = (Arc::clone(&issuer), gate.clone());
            async move {
                issuer.fetches.fetch_add(1, Ordering::SeqCst);
                if let Some(gate) = gate {
                    gate.acquire().await.unwrap().forget();
                }
                match issuer.is_down.load(Ordering::SeqCst) {
                    true => Err(FetchError::TimedOut),
                    false => Ok(Loaded { value: issuer.published.load(Ordering::SeqCst), max_age }),
                }
            }
            .boxed()
        }))
    }

    fn fetches(&self) -> usize {
        self.fetches.load(Ordering::SeqCst)
    }

    fn publish(&self, number: usize) {
        self.published.store(number, Ordering::SeqCst);
    }

    fn set_down(&self, is_down: bool) {
        self.is_down.store(is_down, Ordering::SeqCst);
    }
}

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 + seconds)
}

fn away(retry_after: Duration) -> Unavailable {
    Unavailable { retry_after, is_away: true }
}

async fn get(document: &RemoteDocument<usize>, wanted: usize, seconds: u64) -> Result<usize, Unavailable> {
    document.get(|value| *value == wanted, None, at(seconds)).await.map(|value| *value)
}

/// The same for a token that was issued some seconds before.
async fn get_for_token(
    document: &RemoteDocument<usize>,
    wanted: usize,
    issued: u64,
    seconds: u64,
) -> Result<usize, Unavailable> {
    let issued = Some(at(issued));
    document.get(|value| *value == wanted, issued, at(seconds)).await.map(|value| *value)
}

#[tokio::test]
async fn a_flood_of_unknown_names_causes_two_fetches_in_30_seconds() {
    let issuer = Arc::new(Issuer::default());
    let document = issuer.document(None);
    assert_eq!((get(&document, 0, 0).await, issuer.fetches()), (Ok(0), 1));
    for unknown in 1..1_000 {
        assert_eq!(get(&document, unknown, 29).await, Ok(0), "the answer is that there is none");
    }
    assert_eq!(issuer.fetches(), 3, "the first and two more");
    for unknown in 1..1_000 {
        assert_eq!(get(&document, unknown, 58).await, Ok(0));
    }
    assert_eq!(issuer.fetches(), 3);
    issuer.publish(7);
    assert_eq!((get(&document, 7, 60).await, issuer.fetches()), (Ok(7), 4), "a new key is found");
}

#[tokio::test]
async fn a_document_that_changes_just_after_a_fetch_for_an_unknown_name_is_fetched_again() {
    let issuer = Arc::new(Issuer::default());
    let document = issuer.document(None);
    get(&document, 0, 0).await.unwrap();
    assert_eq!((get(&document, 5, 100).await, issuer.fetches()), (Ok(0), 2), "a stranger's");
    issuer.publish(7);
    assert_eq!((get(&document, 7, 101).await, issuer.fetches()), (Ok(7), 3));
    assert_eq!((get(&document, 5, 102).await, issuer.fetches()), (Ok(7), 3));
    assert_eq!(
        (get(&document, 5, 130).await, issuer.fetches()),
        (Ok(7), 4),
        "30 seconds after the earlier one"
    );
}

#[tokio::test]
async fn strangers_who_use_up_the_fetches_cause_no_refusal_of_a_newer_token() {
    let issuer = Arc::new(Issuer::default());
    let document = issuer.document(None);
    get(&document, 0, 0).await.unwrap();
    for stranger in [5, 6] {
        assert_eq!(get_for_token(&document, stranger, 100, 100).await, Ok(0), "fetched since it was issued");
    }
    issuer.publish(7);
    assert_eq!(
        get_for_token(&document, 7, 101, 102).await,
        Err(Unavailable { retry_after: Duration::from_secs(28), is_away: false })
    );
    assert_eq!(get_for_token(&document, 5, 99, 102).await, Ok(0), "the document is newer than this token");
    assert_eq!(get_for_token(&document, 0, 101, 102).await, Ok(0), "the document has the answer");
    assert_eq!(issuer.fetches(), 3);
    assert_eq!((get_for_token(&document, 7, 101, 130).await, issuer.fetches()), (Ok(7), 4));
}

/// A token tells its second only: one that says 100 may have been issued after a fetch at 100.3.
#[tokio::test]
async fn a_token_of_the_second_of_a_fetch_may_be_newer_than_the_document() {
    let issuer = Arc::new(Issuer::default());
    let document = issuer.document(None);
    let later = |millis: u64| at(100) + Duration::from_millis(millis);
    let get = async |wanted: usize, issued: u64, now: SystemTime| {
        document.get(|value| *value == wanted, Some(at(issued)), now).await.map(|value| *value)
    };
    assert_eq!(get(0, 99, at(0)).await, Ok(0));
    assert_eq!(get(5, 99, later(200)).await, Ok(0));
    assert_eq!(get(6, 100, later(300)).await, Ok(0), "it was fetched for this token");
    issuer.publish(7);
    let unavailable = Unavailable { retry_after: Duration::from_millis(29_200), is_away: false };
    assert_eq!(get(7, 100, later(1_000)).await, Err(unavailable));
    assert_eq!(get(5, 99, later(1_000)).await, Ok(0), "a token of the second before is older");
    assert_eq!(issuer.fetches(), 3);
    assert_eq!((get(7, 100, later(30_200)).await, issuer.fetches()), (Ok(7), 4));
}

#[tokio::test]
async fn a_document_is_fetched_again_when_it_is_no_longer_fresh() {
    let issuer = Arc::new(Issuer::default());
    let document = issuer.document(None);
    get(&document, 0, 0).await.unwrap();
    issuer.publish(1);
    assert_eq!(get(&document, 0, 599).await, Ok(0));
    assert_eq!((get(&document, 1, 600).await, issuer.fetches()), (Ok(1), 2));
    assert_eq!(fresh(None), DEFAULT_FRESH);
    assert_eq!(fresh(Some(Duration::ZERO)), MIN_FRESH);
    assert_eq!(fresh(Some(Duration::MAX)), MAX_AGE);
}

#[tokio::test]
async fn an_old_document_counts_for_a_day_while_the_issuer_is_down() {
    let issuer = Arc::new(Issuer::default());
    let document = issuer.document(None);
    get(&document, 0, 0).await.unwrap();
    issuer.set_down(true);
    assert_eq!((get(&document, 0, 600).await, issuer.fetches()), (Ok(0), 2));
    assert_eq!((get(&document, 0, 629).await, issuer.fetches()), (Ok(0), 2));
    let unknown = get(&document, 5, 629).await;
    assert_eq!(unknown, Err(away(Duration::from_secs(1))), "a newer document could have it");
    let day = 24 * 3600;
    assert_eq!(get(&document, 0, day - 1).await, Ok(0));
    assert_eq!(get(&document, 0, day).await, Err(away(Duration::from_secs(4))));
    issuer.set_down(false);
    assert_eq!(get(&document, 0, day + 4).await, Ok(0));
}

#[tokio::test]
async fn the_first_document_is_tried_again_every_5_seconds() {
    let issuer = Arc::new(Issuer::default());
    issuer.set_down(true);
    let document = issuer.document(None);
    for _ in 0..10 {
        assert_eq!(get(&document, 0, 0).await, Err(away(RETRY_INTERVAL)));
    }
    assert_eq!((get(&document, 0, 4).await, issuer.fetches()), (Err(away(Duration::from_secs(1))), 1));
    issuer.set_down(false);
    assert_eq!((get(&document, 0, 5).await, issuer.fetches()), (Ok(0), 2));
}

#[tokio::test]
async fn all_who_wait_share_one_load_which_goes_on_without_them() {
    let issuer = Arc::new(Issuer::default());
    let gate = Arc::new(Semaphore::new(0));
    let document = issuer.document(Some(Arc::clone(&gate)));
    let waiting: Vec<_> = (0..64)
        .map(|_| {
            let document = Arc::clone(&document);
            tokio::spawn(async move { get(&document, 0, 0).await })
        })
        .collect();
    while issuer.fetches() == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    // The request that started the load is dropped.
    waiting[0].abort();
    gate.add_permits(1);
    for task in waiting.into_iter().skip(1) {
        assert_eq!(task.await.unwrap(), Ok(0));
    }
    assert_eq!(issuer.fetches(), 1);
}

#[tokio::test]
async fn a_load_for_which_nobody_waits_any_more_counts() {
    let issuer = Arc::new(Issuer::default());
    let document = issuer.document(None);
    assert!(get(&document, 0, 0).now_or_never().is_none(), "the load has begun and nobody waits");
    while document.state.lock().load.as_ref().is_some_and(|load| load.result.clone().now_or_never().is_none())
    {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!((get(&document, 0, 1).await, issuer.fetches()), (Ok(0), 1));
}

#[tokio::test]
async fn a_clock_that_is_set_back_makes_a_document_old() {
    let issuer = Arc::new(Issuer::default());
    let document = issuer.document(None);
    get(&document, 0, 5_000).await.unwrap();
    assert_eq!(
        (get(&document, 0, 4_990).await, issuer.fetches()),
        (Ok(0), 1),
        "requests overtake each other"
    );
    assert_eq!((get(&document, 0, 0).await, issuer.fetches()), (Ok(0), 2));
}
